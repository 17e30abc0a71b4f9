#include "init/exec/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string_view>

#include "base/seccomp_filter.h"
#include "init/exec/connect_watch.h"
#include "init/exec/memory_priority.h"

namespace nutshell::init {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

std::string_view path_of(const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    if (variable.starts_with("PATH=")) return std::string_view(variable).substr(5);
  }
  return kDefaultPath;
}

// Searches like execvp: a name with a slash is used as it is, any other is tried in each directory
// of PATH.
std::vector<std::string> candidates_for(const SpawnPlan& plan) {
  const std::string& name = plan.argv.front();
  if (name.find('/') != std::string::npos) return {name};
  std::vector<std::string> candidates;
  std::string_view path = path_of(plan.environment);
  for (;;) {
    const std::size_t colon = std::min(path.find(':'), path.size());
    const std::string_view directory = path.substr(0, colon);
    candidates.push_back((directory.empty() ? "." : std::string(directory)) + "/" + name);
    if (colon == path.size()) return candidates;
    path.remove_prefix(colon + 1);
  }
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  list.reserve(strings.size() + 1);
  for (const std::string& text : strings)
    list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Data for the child, made before the vfork: the child shares init's memory and may not allocate.
struct Prepared {
  std::vector<std::string> candidates;
  std::vector<char*> candidate_pointers;
  std::vector<char*> argv;
  std::vector<char*> script_argv;  // "/bin/sh", candidate, arguments…
  std::vector<char*> environment;
};

// Written by the child in the parent's memory.
struct Report {
  volatile int& error_number;
  volatile bool& is_in_exec;
};

bool move_descriptor(int from, int to) noexcept {
  if (from != to) return ::dup2(from, to) == to;
  return ::fcntl(to, F_SETFD, 0) == 0;
}

// Blocks and ignores no signal, as a new program expects.
void reset_signals() noexcept {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): init has one thread
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
}

int prepare_child(const SpawnPlan& plan) noexcept {
  if (::setsid() < 0) return errno;
  if (plan.is_terminal && ::ioctl(plan.standard_input, TIOCSCTTY, 0) != 0) return errno;
  if (::fchdir(plan.working_directory) != 0) return errno;
  if (!move_descriptor(plan.standard_input, 0) || !move_descriptor(plan.standard_output, 1) ||
      !move_descriptor(plan.standard_error, 2)) {
    return errno;
  }
  const auto seconds = static_cast<rlim_t>(plan.cpu_time.count());
  const rlimit cpu{seconds, seconds + 1};  // SIGXCPU first, SIGKILL a second later
  if (::setrlimit(RLIMIT_CPU, &cpu) != 0 && errno != EPERM) return errno;
  if (const int error = ProcessMarks::put_on_self(plan.mark); error != 0) return error;
  reset_signals();
  // Last: the filters forbid changing the mark.
  const int error = install_seccomp_filter_raw(plan.filter);
  return error != 0 || plan.watch_sender < 0 ? error : watch_own_connects(plan.watch_sender);
}

// Returns only if no candidate could be run.
int try_candidates(Prepared& prepared) noexcept {
  int answer = ENOENT;
  for (char* candidate : prepared.candidate_pointers) {
    if (candidate == nullptr) break;
    ::execve(candidate, prepared.argv.data(), prepared.environment.data());
    if (errno == ENOEXEC) {
      prepared.script_argv[1] = candidate;
      ::execve("/bin/sh", prepared.script_argv.data(), prepared.environment.data());
    }
    if (errno == EACCES) answer = EACCES;  // reported unless a later directory has the program
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) return errno;
  }
  return answer;
}

[[noreturn]] void run_child(const SpawnPlan& plan, Prepared& prepared,
                            const Report& report) noexcept {
  int error = prepare_child(plan);
  if (error == 0) {
    report.is_in_exec = true;
    error = try_candidates(prepared);
  }
  report.error_number = error;
  ::_exit(127);
}

}  // namespace

Spawned spawn(const SpawnPlan& plan) {
  Prepared prepared;
  prepared.candidates = candidates_for(plan);
  prepared.candidate_pointers = pointers(prepared.candidates);
  prepared.argv = pointers(plan.argv);
  prepared.environment = pointers(plan.environment);
  prepared.script_argv = prepared.argv;
  prepared.script_argv.insert(prepared.script_argv.begin(), const_cast<char*>("/bin/sh"));
  // Variables of their own, not members: the compiler may keep a member in a register across vfork.
  volatile int error_number = 0;
  volatile bool is_in_exec = false;
  const Report report{error_number, is_in_exec};
  // The child borrows init's memory until it execs: no page tables are copied, and the report
  // needs no pipe. Init has one thread, so nothing else runs meanwhile.
  set_memory_priority(plan.memory_priority, kKilledFirst);
  const pid_t pid = ::vfork();
  if (pid == 0) run_child(plan, prepared, report);
  set_memory_priority(plan.memory_priority, kKilledLast);
  if (pid < 0) return {-1, errno, false};
  return {pid, error_number, is_in_exec};
}

}  // namespace nutshell::init
