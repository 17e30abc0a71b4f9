#include "backends/gvisor/leftovers.h"

#include <dirent.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <vector>

#include "backends/gvisor/bundle.h"
#include "backends/gvisor/oci_config.h"
#include "base/file.h"

namespace nutshell::gvisor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCgroups = "/sys/fs/cgroup";

void wait_a_moment() {
  constexpr timespec kMoment{0, 5'000'000};
  ::nanosleep(&kMoment, nullptr);
}

// `words` is a command line: "name\0--root=…\0boot\0--bundle=…\0".
bool has_word(std::string_view words, std::string_view wanted) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find('\0'), words.size());
    if (words.substr(0, end) == wanted) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

bool is_named(pid_t process, const std::string& argument) {
  const auto words = read_file(fmt::format("/proc/{}/cmdline", process), 128U << 10U);
  return words && has_word(*words, argument);
}

std::vector<pid_t> processes_with(const std::string& argument) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().native();
    pid_t process = 0;
    std::from_chars(name.data(), name.data() + name.size(), process);
    if (process > 1 && is_named(process, argument)) found.push_back(process);
  }
  return found;
}

// Checks the command line again once the process is open: another process may have got its number.
void end_process(pid_t process, const std::string& argument) {
  const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (handle && is_named(process, argument))
    ::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0);
}

// Looks in the hierarchy of every controller (v1) and at the top (v2).
std::vector<fs::path> cgroups_of(const std::string& id) {
  std::vector<fs::path> found;
  std::error_code ignored;
  const auto add = [&](const fs::path& hierarchy) {
    fs::path group = hierarchy / kCgroupParent / id;
    if (fs::is_directory(group, ignored)) found.push_back(std::move(group));
  };
  add(kCgroups);
  for (const auto& entry : fs::directory_iterator(kCgroups, ignored)) {
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) add(entry.path());
  }
  return found;
}

}  // namespace

Result<> end_processes(const std::string& argument, const Deadline& deadline) {
  for (;;) {
    const std::vector<pid_t> found = processes_with(argument);
    if (found.empty()) return {};
    for (const pid_t process : found)
      end_process(process, argument);
    if (deadline.has_passed()) {
      return failure(
          ErrorCode::DeadlineExceeded,
          fmt::format("process {} of a sandbox does not end after SIGKILL", found.front()));
    }
    wait_a_moment();
  }
}

Result<> remove_cgroups(const std::string& id, const Deadline& deadline) {
  for (const fs::path& group : cgroups_of(id)) {
    // A killed process leaves its group a moment later.
    while (::rmdir(group.c_str()) != 0 && errno != ENOENT) {
      if (errno != EBUSY || deadline.has_passed()) return syscall_failure("remove", group.native());
      wait_a_moment();
    }
    ::rmdir(group.parent_path().c_str());  // fails while other sandboxes exist
  }
  return {};
}

void remove_state_files(const fs::path& directory, const std::string& id) {
  std::error_code ignored;  // a file that is left is found again while the bundle exists
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().native();
    if (name.starts_with(id + "_sandbox:") || name == fmt::format("runsc-{}.sock", id))
      ::unlink(entry.path().c_str());
  }
}

bool has_run_out_of_memory(const std::string& id) {
  for (const fs::path& group : cgroups_of(id)) {
    for (const char* name : {"memory.events", "memory.oom_control"}) {
      const auto text = read_file(group / name);
      const std::size_t at = text ? text->find("oom_kill ") : std::string::npos;
      if (at == std::string::npos) continue;
      if (std::strtoull(text->c_str() + at + std::string_view("oom_kill ").size(), nullptr, 10) > 0)
        return true;
    }
  }
  return false;
}

}  // namespace nutshell::gvisor
