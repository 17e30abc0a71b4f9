#include "init/exec/halt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string_view>

#include "base/unique_fd.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t bit_of(int signal) {
  return 1ULL << static_cast<unsigned>(signal - 1);
}
constexpr std::array kJobSignals = {SIGTSTP, SIGTTIN, SIGTTOU};

std::uint64_t number_in_base(std::string_view text, std::string_view key, int base) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + key.size());
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

}  // namespace

struct Halt::Process {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = 'X';
  std::uint64_t pending = 0;  // signals, as bits
  std::size_t depth = 0;
  bool has_children = false;

  static Process read(int proc, pid_t pid) {
    Process process{.pid = pid};
    const UniqueFd fd(::openat(proc, fmt::format("{}/status", pid).c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 4096> buffer;  // not cleared: only what read() filled is used
    const ssize_t count = fd ? ::read(fd.get(), buffer.data(), buffer.size()) : -1;
    if (count <= 0) return process;
    // The name comes first and may hold any bytes, but every line feed in it is escaped.
    std::string_view text(buffer.data(), static_cast<std::size_t>(count));
    text.remove_prefix(std::min(text.find('\n'), text.size()));
    constexpr std::string_view kState = "\nState:\t";
    const std::size_t at = text.find(kState);
    if (at == std::string_view::npos || at + kState.size() >= text.size()) return process;
    process.state = text[at + kState.size()];
    process.parent = static_cast<pid_t>(number_in_base(text, "\nPPid:\t", 10));
    process.pending =
        number_in_base(text, "\nSigPnd:\t", 16) | number_in_base(text, "\nShdPnd:\t", 16);
    if (process.state == 'Z' && number_in_base(text, "\nThreads:\t", 10) > 1) process.state = 'R';
    return process;
  }

  // Whether it runs, and no stop signal is pending.
  [[nodiscard]] bool is_free() const {
    constexpr std::string_view kHeld = "TtZX";
    return kHeld.find(state) == std::string_view::npos && (pending & bit_of(SIGSTOP)) == 0;
  }
};

std::vector<Halt::Process> Halt::parents_first(const std::vector<pid_t>& pids) const {
  std::map<pid_t, Process> processes;
  for (const pid_t pid : pids)
    processes.emplace(pid, Process::read(marks_.proc(), pid));
  for (auto& [pid, process] : processes) {
    auto above = processes.find(process.parent);
    if (above != processes.end()) above->second.has_children = true;
    // Parents change meanwhile: so there are at most as many steps as processes.
    while (above != processes.end() && process.depth < processes.size()) {
      ++process.depth;
      above = processes.find(above->second.parent);
    }
  }
  std::vector<Process> order;
  order.reserve(processes.size());
  for (const auto& [pid, process] : processes)
    order.push_back(process);
  std::sort(order.begin(), order.end(),
            [](const Process& a, const Process& b) { return a.depth < b.depth; });
  return order;
}

// A parent that waits for its children would see them stop, and a shell would take that for a
// Ctrl-Z: so parents are stopped before their children.
std::vector<pid_t> Halt::stop(const std::vector<pid_t>& pids) {
  std::vector<pid_t> stopped;
  const Deadline patience = Deadline::in(50ms);  // on a busy machine they wait for a core
  for (const Process& process : parents_first(pids)) {
    // Read twice: the kernel prints the state before the signals, and the process may stop for a
    // signal of the sandbox in between.
    if (!process.is_free() || !Process::read(marks_.proc(), process.pid).is_free()) continue;
    if (::kill(process.pid, SIGSTOP) != 0) continue;
    stopped.push_back(process.pid);
    if (process.has_children) wait_until_stopped(process.pid, patience);
  }
  return stopped;
}

void Halt::wait_until_stopped(pid_t pid, const Deadline& deadline) const {
  while (!deadline.has_passed()) {
    const char state = Process::read(marks_.proc(), pid).state;
    if (state != 'R' && state != 'S') return;
    constexpr timespec kMoment{0, 1000};
    ::nanosleep(&kMoment, nullptr);  // it may need this core to stop
  }
}

void Halt::stop_all() {
  is_on_ = true;
  std::set<pid_t> seen;
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<pid_t> fresh = marks_.all();
    std::erase_if(fresh, [&](pid_t pid) { return !seen.insert(pid).second; });
    if (fresh.empty()) return;
    const std::vector<pid_t> stopped = stop(fresh);
    stopped_.insert(stopped_.end(), stopped.begin(), stopped.end());
  }
  // They fork faster than /proc can be read: kill(-1) reaches all, and no fork slips through.
  ::kill(-1, SIGSTOP);
  for (const pid_t pid : marks_.all()) {
    if (seen.insert(pid).second) stopped_.push_back(pid);
  }
}

std::vector<pid_t> Halt::stop_again(const std::vector<pid_t>& pids) {
  std::vector<pid_t> escaped;
  for (const pid_t pid : stop(pids)) {
    const bool is_known = std::find(stopped_.begin(), stopped_.end(), pid) != stopped_.end();
    (is_known ? escaped : stopped_).push_back(pid);
  }
  return escaped;
}

// Children continue first: when a parent looks, they run again. SIGCONT drops the stop signals that
// came meanwhile, the terminal's among them: those are sent again.
void Halt::resume() {
  is_on_ = false;
  for (auto pid = stopped_.rbegin(); pid != stopped_.rend(); ++pid) {
    const std::uint64_t pending = Process::read(marks_.proc(), *pid).pending;
    ::kill(*pid, SIGCONT);
    for (const int signal : kJobSignals) {
      if ((pending & bit_of(signal)) != 0) ::kill(*pid, signal);
    }
  }
  stopped_.clear();
}

}  // namespace nutshell::init
