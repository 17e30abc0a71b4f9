#include "init/process_marks.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>
#include <string_view>

namespace nutshell::init {
namespace {

// The fields of /proc/PID/stat from the third on: the second may hold any bytes, spaces and
// parentheses included, so they are counted from the last parenthesis.
std::string_view read_stat(int proc, pid_t pid, std::array<char, 512>& buffer) {
  const UniqueFd fd(::openat(proc, fmt::format("{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t count = fd ? ::read(fd.get(), buffer.data(), buffer.size()) : -1;
  if (count <= 0) return {};
  const std::string_view text(buffer.data(), static_cast<std::size_t>(count));
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string_view::npos ? std::string_view() : text.substr(name_end + 1);
}

std::string_view field(std::string_view fields, int index) {
  for (; index > 0 && !fields.empty(); --index) {
    fields.remove_prefix(std::min(fields.find_first_not_of(' '), fields.size()));
    fields.remove_prefix(std::min(fields.find(' '), fields.size()));
  }
  fields.remove_prefix(std::min(fields.find_first_not_of(' '), fields.size()));
  return fields.substr(0, fields.find(' '));
}

long to_number(std::string_view text) {
  long number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

ProcessMarks::ProcessMarks() : proc_(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

int ProcessMarks::put_on_self(Mark mark) noexcept {
  const rlimit limit{mark, mark};
  return ::setrlimit(RLIMIT_LOCKS, &limit) == 0 ? 0 : errno;
}

Mark ProcessMarks::of(pid_t pid) {
  rlimit limit{};
  if (::prlimit(pid, RLIMIT_LOCKS, nullptr, &limit) != 0) return 0;
  return limit.rlim_max == RLIM_INFINITY ? 0 : limit.rlim_max;
}

bool ProcessMarks::is_outsider(pid_t pid) {
  rlimit limit{};
  return ::prlimit(pid, RLIMIT_LOCKS, nullptr, &limit) == 0 && limit.rlim_max == RLIM_INFINITY;
}

bool ProcessMarks::is_zombie(pid_t pid) const {
  std::array<char, 512> buffer{};
  const std::string_view state = field(read_stat(proc_.get(), pid, buffer), 0);
  return state.empty() || state == "Z" || state == "X";
}

std::vector<pid_t> ProcessMarks::living(Mark mark) const {
  std::vector<pid_t> pids;
  const int copy = ::openat(proc_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(copy), &::closedir);
  while (const dirent* entry = ::readdir(directory.get())) {  // NOLINT(concurrency-mt-unsafe)
    const auto pid = static_cast<pid_t>(to_number(entry->d_name));
    if (pid <= 1) continue;
    if (mark != kAnyMark && of(pid) != mark) continue;
    if (!is_zombie(pid)) pids.push_back(pid);
  }
  return pids;
}

void ProcessMarks::send_signal(Mark mark, int signal) const {
  for (const pid_t pid : living(mark))
    ::kill(pid, signal);
}

std::size_t ProcessMarks::kill_all(Mark mark, const Deadline& deadline) const {
  constexpr int kPlainRounds = 8;
  for (int round = 0;; ++round) {
    std::vector<pid_t> pids = living(mark);
    if (pids.empty()) return 0;
    if (deadline.has_passed()) return pids.size();
    // Whoever forks faster than /proc can be read is stopped first: kill(-1) reaches all
    // processes in one step that no fork can slip through.
    const bool stops_all = round >= kPlainRounds;
    if (stops_all) {
      ::kill(-1, SIGSTOP);
      pids = living(mark);
    }
    for (const pid_t pid : pids)
      ::kill(pid, SIGKILL);
    if (stops_all) ::kill(-1, SIGCONT);
    constexpr timespec kMoment{0, 500'000};
    ::nanosleep(&kMoment, nullptr);
  }
}

std::chrono::microseconds ProcessMarks::cpu_time(Mark mark) const {
  long ticks = 0;
  std::array<char, 512> buffer{};
  for (const pid_t pid : living(mark)) {
    const std::string_view fields = read_stat(proc_.get(), pid, buffer);
    for (const int index : {11, 12, 13, 14})
      ticks += to_number(field(fields, index));
  }
  return std::chrono::microseconds(ticks * (1'000'000 / ::sysconf(_SC_CLK_TCK)));
}

}  // namespace nutshell::init
