#include "backends/native/cgroups/cgroup_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <thread>

#include "base/file.h"

namespace nutshell::native {
namespace {

constexpr std::size_t kMostListing = 64U << 20U;
constexpr std::size_t kPidfdsAtOnce = 128;
constexpr int kMostDepth = 16;

// Called by number: glibc 2.36 declares both functions for C only.
int open_pidfd(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}
long send_kill(int pidfd) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
}

struct CloseStream {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

Result<std::uint64_t> parse_number(std::string_view text, const char* file) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{}) return number;
  return failure(ErrorCode::Internal, fmt::format("{} holds no number: '{}'", file, text));
}

// Reads a file of numbers, which the kernel returns whole from one read(2).
Result<std::string> read_short_file(int directory, const char* file) {
  constexpr std::size_t kMostBytes = 4096;
  const UniqueFd fd = TRY(open_at(directory, file, O_RDONLY));
  std::string text(kMostBytes, '\0');
  const ssize_t count = ::read(fd.get(), text.data(), text.size());
  if (count < 0) return syscall_failure("read", file);
  text.resize(static_cast<std::size_t>(count));
  return text;
}

// Opens the file each time: v1 caches the list of an open descriptor for up to a second.
Result<> add_processes(int directory, std::vector<pid_t>& pids) {
  const std::string text = TRY(read_file_at(directory, "cgroup.procs", kMostListing));
  const char* position = text.data();
  const char* const end = position + text.size();
  pid_t pid = 0;
  for (;;) {
    const auto [next, error] = std::from_chars(position, end, pid);
    if (error != std::errc{}) return {};
    pids.push_back(pid);
    position = std::min(next + 1, end);
  }
}

Result<> add_processes_below(int directory, std::vector<pid_t>& pids, int depth) {
  TRY(add_processes(directory, pids));
  if (depth >= kMostDepth) return failure(ErrorCode::Internal, "cgroups are nested too deep");
  for (const auto& child : TRY(child_cgroups(directory))) {
    auto fd = open_at(directory, child.c_str(), O_RDONLY | O_DIRECTORY);
    if (!fd) continue;  // removed meanwhile
    TRY(add_processes_below(fd->get(), pids, depth + 1));
  }
  return {};
}

// By the time a listed pid is opened it may belong to another process. If the pid is still listed
// afterwards, the descriptor refers to a process of the cgroup or to a dead one.
Result<> kill_some(int directory, const std::vector<pid_t>& pids, std::size_t first) {
  const std::size_t count = std::min(kPidfdsAtOnce, pids.size() - first);
  std::vector<std::pair<pid_t, UniqueFd>> opened;
  for (std::size_t i = first; i < first + count; ++i) {
    if (pids[i] <= 0) continue;
    UniqueFd fd(open_pidfd(pids[i]));
    if (!fd && errno != ESRCH && errno != EINVAL) return syscall_failure("pidfd_open");
    if (fd) opened.emplace_back(pids[i], std::move(fd));
  }
  std::vector<pid_t> again = TRY(list_processes(directory));
  std::sort(again.begin(), again.end());
  for (const auto& [pid, fd] : opened) {
    if (!std::binary_search(again.begin(), again.end(), pid)) continue;
    if (send_kill(fd.get()) == 0 || errno == ESRCH) continue;
    return syscall_failure("kill", std::to_string(pid));
  }
  return {};
}

Result<> remove_children(int directory, const Deadline& deadline) {
  for (const auto& child : TRY(child_cgroups(directory))) {
    TRY(remove_directory(directory, child, deadline));
  }
  return {};
}

}  // namespace

bool Backoff::wait(const Deadline& deadline) {
  if (deadline.has_passed()) return false;
  std::this_thread::sleep_for(span_);
  span_ = std::min(span_ * 2, std::chrono::microseconds(2000));
  return true;
}

std::uint64_t number_behind(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.size() <= key.size() || !line.starts_with(key) || line[key.size()] != ' ') continue;
    return parse_number(line.substr(key.size() + 1), "line").value_or(0);
  }
  return 0;
}

Result<std::uint64_t> read_number(int directory, const char* file) {
  return parse_number(TRY(read_short_file(directory, file)), file);
}

Result<std::uint64_t> read_number(int directory, const char* file, std::string_view key) {
  return number_behind(TRY(read_short_file(directory, file)), key);
}

Result<std::vector<std::string>> child_cgroups(int directory) {
  struct stat status {};
  if (::fstat(directory, &status) != 0) return syscall_failure("fstat", "cgroup");
  std::vector<std::string> names;
  if (status.st_nlink <= 2) return names;  // two links are its own, each child adds one
  UniqueFd fd = TRY(open_at(directory, ".", O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, CloseStream> stream(::fdopendir(fd.get()));
  if (!stream) return syscall_failure("fdopendir", "cgroup");
  (void)fd.release();                                      // the stream owns it now
  while (const dirent* entry = ::readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

Result<std::vector<pid_t>> list_processes(int directory) {
  std::vector<pid_t> pids;
  TRY(add_processes_below(directory, pids, 0));
  return pids;
}

Result<bool> has_processes(const CgroupDirectory& directory) {
  if (directory.version == CgroupVersion::V2) {
    return TRY(read_number(directory.fd.get(), "cgroup.events", "populated")) != 0;
  }
  return !TRY(list_processes(directory.fd.get())).empty();
}

Result<> kill_listed_processes(int directory) {
  const std::vector<pid_t> pids = TRY(list_processes(directory));
  for (std::size_t first = 0; first < pids.size(); first += kPidfdsAtOnce) {
    TRY(kill_some(directory, pids, first));
  }
  return {};
}

Result<> request_state(const CgroupDirectory& directory, FreezerState state) {
  const bool is_frozen = state == FreezerState::Frozen;
  if (directory.version == CgroupVersion::V2) {
    return write_value_at(directory.fd.get(), "cgroup.freeze", is_frozen ? "1" : "0");
  }
  return write_value_at(directory.fd.get(), "freezer.state", is_frozen ? "FROZEN" : "THAWED");
}

Result<bool> is_frozen(const CgroupDirectory& directory) {
  if (directory.version == CgroupVersion::V2) {
    return TRY(read_number(directory.fd.get(), "cgroup.events", "frozen")) == 1;
  }
  return TRY(read_file_at(directory.fd.get(), "freezer.state")).starts_with("FROZEN");
}

Result<> freeze_directory(const CgroupDirectory& directory, const Deadline& deadline) {
  TRY(request_state(directory, FreezerState::Frozen));
  Backoff backoff;
  while (!TRY(is_frozen(directory))) {
    if (backoff.wait(deadline)) continue;
    TRY(request_state(directory, FreezerState::Thawed));
    return failure(ErrorCode::DeadlineExceeded, "the cgroup could not be frozen in time");
  }
  return {};
}

Result<> thaw_directory(const CgroupDirectory& directory, const Deadline& deadline) {
  TRY(request_state(directory, FreezerState::Thawed));
  Backoff backoff;
  while (TRY(is_frozen(directory))) {
    if (backoff.wait(deadline)) continue;
    return failure(ErrorCode::DeadlineExceeded, "the cgroup could not be thawed in time");
  }
  return {};
}

Result<> remove_directory(int parent, const std::string& name, const Deadline& deadline) {
  Backoff backoff;
  for (;;) {
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    if (errno != EBUSY) return syscall_failure("rmdir", name);
    const auto directory = open_at(parent, name.c_str(), O_RDONLY | O_DIRECTORY);
    if (directory) TRY(remove_children(directory->get(), deadline));
    if (!backoff.wait(deadline)) return syscall_failure(EBUSY, "rmdir", name);
  }
}

}  // namespace nutshell::native
