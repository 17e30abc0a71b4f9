#include "init/exec/process_marks.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <string_view>

#include "init/exec/process_stat.h"

namespace nutshell::init {
namespace {

ProcessMarks::Place find_place() {
  rlimit limit{};
  const bool can_set =
      ::getrlimit(RLIMIT_LOCKS, &limit) == 0 && ::setrlimit(RLIMIT_LOCKS, &limit) == 0;
  return can_set ? ProcessMarks::Place::Locks : ProcessMarks::Place::Resident;
}

__rlimit_resource resource() {
  return ProcessMarks::place() == ProcessMarks::Place::Locks ? RLIMIT_LOCKS : RLIMIT_RSS;
}

}  // namespace

ProcessMarks::ProcessMarks() : proc_(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  (void)place();  // determined before a child of vfork needs it
}

ProcessMarks::Place ProcessMarks::place() {
  static const Place kPlace = find_place();
  return kPlace;
}

int ProcessMarks::put_on_self(Mark mark) noexcept {
  const rlimit limit{mark, mark};
  return ::setrlimit(resource(), &limit) == 0 ? 0 : errno;
}

Mark ProcessMarks::of(pid_t pid) {
  rlimit limit{};
  if (::prlimit(pid, resource(), nullptr, &limit) != 0) return 0;
  return limit.rlim_max == RLIM_INFINITY ? 0 : limit.rlim_max;
}

bool ProcessMarks::is_outsider(pid_t pid) {
  rlimit limit{};
  return ::prlimit(pid, resource(), nullptr, &limit) == 0 && limit.rlim_max == RLIM_INFINITY;
}

std::vector<pid_t> ProcessMarks::all() const {
  std::vector<pid_t> pids;
  const int copy = ::openat(proc_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(copy), &::closedir);
  if (!directory) {
    ::close(copy);
    return pids;
  }
  while (const dirent* entry = ::readdir(directory.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid > 1) pids.push_back(pid);
  }
  return pids;
}

namespace {

// A process of another user is a bridge to init from outside: a command cannot change its user.
bool is_foreign(pid_t pid) {
  rlimit limit{};
  return ::prlimit(pid, resource(), nullptr, &limit) != 0 && errno == EPERM;
}

}  // namespace

std::vector<pid_t> ProcessMarks::living(Mark mark) const {
  std::vector<pid_t> pids = all();
  std::erase_if(pids, [&](pid_t pid) {
    if (mark == kAnyMark ? is_foreign(pid) : of(pid) != mark) return true;
    const auto stat = read_process_stat(proc_.get(), pid);
    return !stat || stat->is_dead();
  });
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
    // Processes that fork faster than /proc can be read are stopped first: kill(-1) reaches all
    // processes in one step, and no fork slips through.
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
  for (const pid_t pid : living(mark)) {
    if (const auto stat = read_process_stat(proc_.get(), pid)) ticks += stat->cpu_ticks;
  }
  return std::chrono::microseconds(ticks * (1'000'000 / ::sysconf(_SC_CLK_TCK)));
}

}  // namespace nutshell::init
