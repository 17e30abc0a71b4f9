#include "init/exec/cpu_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/unique_fd.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

constexpr auto kBurst = 100ms;       // unused time that is kept, in wall time
constexpr auto kMostStolen = 500ms;  // a system call ends sooner after a signal

// The CPU time of all threads of a process, also of one that waits to be reaped.
std::chrono::nanoseconds cpu_time_of(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0ns;
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// The number that was given to the newest process or thread of this pid namespace.
std::uint64_t newest_pid(int proc) {
  const UniqueFd fd(::openat(proc, "loadavg", O_RDONLY | O_CLOEXEC));
  std::array<char, 128> buffer{};
  const ssize_t count = fd ? ::read(fd.get(), buffer.data(), buffer.size()) : -1;
  if (count <= 0) return 0;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(count));
  const std::size_t space = text.rfind(' ');
  std::uint64_t number = 0;
  if (space != std::string_view::npos) {
    std::from_chars(text.data() + space + 1, text.data() + text.size(), number);
  }
  return number;
}

}  // namespace

CpuWatch::Nanoseconds CpuWatch::share_of(Nanoseconds span) const {
  return std::min<Nanoseconds>(span, 1h) * millicpus_ / 1000;  // an hour pays every debt
}

void CpuWatch::begin(const ProcessMarks& marks) {
  if (!is_on() || !next_look_.is_never()) return;
  credit_ = std::min(credit_ + share_of(Clock::now() - last_look_), share_of(kBurst));
  last_look_ = Clock::now();
  last_pid_ = newest_pid(marks.proc());
  next_look_ = Deadline::in(kInterval);
}

void CpuWatch::look(const ProcessMarks& marks, Halt& halt) {
  if (!next_look_.has_passed()) return;
  const std::vector<pid_t> pids = marks.all();
  const Use use = measure(pids, marks);
  charge(use);
  next_look_ = pids.empty() ? Deadline::never() : Deadline::in(kInterval);
  if (halt.is_on()) return hold(use, halt);
  stolen_ = 0ns;
  if (is_in_debt()) halt.stop_all();
}

CpuWatch::Use CpuWatch::measure(const std::vector<pid_t>& pids, const ProcessMarks& marks) {
  Use use;
  std::map<pid_t, Nanoseconds> clocks;
  std::uint64_t fresh = 0;
  for (const pid_t pid : pids) {
    const auto known = clocks_.find(pid);
    const Nanoseconds before = known == clocks_.end() ? 0ns : known->second;
    const Nanoseconds now = std::max(cpu_time_of(pid), before);
    if (known == clocks_.end()) ++fresh;
    if (now > before) use.by_process.emplace(pid, now - before);
    use.total += now - before;
    clocks.emplace(pid, now);
  }
  const bool has_lost_one = clocks_.size() + fresh > clocks.size();
  const std::uint64_t newest = newest_pid(marks.proc());
  use.is_complete = !has_lost_one && newest - last_pid_ == fresh;
  last_pid_ = newest;
  clocks_ = std::move(clocks);
  return use;
}

// The CPU time of processes that came or went between two looks is unknown: it counts as all the
// time there was.
void CpuWatch::charge(const Use& use) {
  const Clock::time_point now = Clock::now();
  const Nanoseconds elapsed = now - last_look_;
  last_look_ = now;
  const Nanoseconds used = use.is_complete ? use.total : std::max(use.total, elapsed * cores_);
  credit_ = std::min(credit_ + share_of(elapsed), share_of(kBurst)) - used;
}

// A process that ran although it was stopped was continued by another that was not stopped yet, or
// by the kernel on its own order: a timer or a file can send SIGCONT for ever.
void CpuWatch::hold(const Use& use, Halt& halt) {
  std::vector<pid_t> users;
  users.reserve(use.by_process.size());
  for (const auto& [pid, used] : use.by_process)
    users.push_back(pid);
  const std::vector<pid_t> escaped = halt.stop_again(users);
  for (const pid_t pid : escaped)
    stolen_ += use.by_process.at(pid);
  if (stolen_ < kMostStolen) return;
  for (const pid_t pid : escaped)
    ::kill(pid, SIGKILL);
}

}  // namespace nutshell::init
