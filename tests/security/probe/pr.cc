// PR: priorities, limits, cgroups, signals and what a dying process leaves.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "probe.h"

namespace nutshell::probe {
namespace {

constexpr unsigned kSettleMicroseconds = 200'000;

void fork_orphan() {
  const pid_t parent = ::fork();
  if (parent == 0) {
    (void)::fork();  // parent and grandchild exit at once; init has to reap the grandchild
    ::_exit(0);
  }
  if (parent > 0) ::waitpid(parent, nullptr, 0);
}

std::size_t zombies() {
  std::size_t count = 0;
  for (const int process : visible_processes()) {
    const auto status = read_text("/proc/" + std::to_string(process) + "/status");
    if (status && field_of(*status, "State").starts_with("Z")) ++count;
  }
  return count;
}

Verdict orphan_flood(const Arguments& arguments) {
  const auto count = parse_size(arguments[0]);
  const auto before = zombies();
  for (unsigned long long number = 0; number < count; ++number)
    fork_orphan();
  for (int wait = 0; wait < 25 && zombies() > before; ++wait)
    ::usleep(kSettleMicroseconds);
  const auto left = zombies();
  if (left > before) return opened(std::to_string(left) + " zombies are left");
  return refused("init reaped " + std::to_string(count) + " orphans");
}

// The kernel ignores SIGKILL for pid 1 from inside its namespace. kill(-1) spares the caller, so
// this process can report whether init is alive.
Verdict kill_everything(const Arguments& arguments) {
  if (arguments[0] != "kill-everything") return unexpected("the argument is not the magic word");
  if (::getpid() == 1 || is_first_namespace("pid", Namespace::Pid) ||
      link_target("/proc/self/ns/pid").empty()) {
    return unexpected("not in a process namespace of its own: not tried");
  }
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGSEGV, SIGABRT, SIGSTOP, SIGKILL}) {
    (void)::kill(1, signal);
  }
  (void)::kill(-1, SIGKILL);
  ::usleep(kSettleMicroseconds);
  const auto status = read_text("/proc/1/status");
  if (!status) return unexpected("/proc/1/status does not open");
  const std::string state = field_of(*status, "State");
  if (state.starts_with("T") || state.starts_with("Z") || state.starts_with("X")) {
    return opened("init is in state " + state);
  }
  return refused("init lives: " + state);
}

// The filter answers a change of RLIMIT_CORE as if it were made, and makes none.
int raise_limit(int resource, const rlimit& wanted) {
  if (::setrlimit(resource, &wanted) != 0) return -1;
  rlimit now{};
  if (::getrlimit(resource, &now) == 0 && now.rlim_max == wanted.rlim_max) return 0;
  errno = EPERM;
  return -1;
}

Verdict raise_hard_limits() {
  Findings findings;
  for (const auto resource : {RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_CORE, RLIMIT_MEMLOCK,
                              RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_NICE, RLIMIT_RTPRIO}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) continue;
    limit.rlim_max += 1;
    findings.add(try_call("raise of limit " + std::to_string(static_cast<int>(resource)),
                          [&] { return raise_limit(resource, limit); }));
  }
  return findings.verdict();
}

Verdict raise_oom_protection() {
  const Descriptor file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return judge("oom_score_adj", -1, errno, path_rules());
  const ssize_t size = ::write(file.get(), "-1000", 5);
  return judge("oom_score_adj -1000", size, errno);
}

Verdict take_priority(const Arguments&) {
  constexpr std::size_t kLocked = 256U << 20U;
  Findings findings;
  findings.add(try_call("nice -20", [] { return ::setpriority(PRIO_PROCESS, 0, -20); }));
  findings.add(try_call("SCHED_FIFO", [] {
    const sched_param highest{.sched_priority = 1};
    return ::sched_setscheduler(0, SCHED_FIFO, &highest);
  }));
  findings.add(try_call("realtime ioprio", [] {
    // The header with these names is no C++ in some versions of the kernel.
    constexpr int kProcess = 1;
    constexpr int kHighestRealTime = 1 << 13;
    return ::syscall(SYS_ioprio_set, kProcess, 0, kHighestRealTime);
  }));
  // With MCL_ONFAULT an allowed call locks only pages that are touched, which these never are.
  findings.add(try_call("mlock 256m",
                        [] {
                          void* bytes = ::mmap(nullptr, kLocked, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
                          return bytes == MAP_FAILED ? -1 : ::mlock2(bytes, kLocked, MLOCK_ONFAULT);
                        },
                        {.refusals = {EPERM, EAGAIN, ENOMEM, ENOSYS}}));
  findings.add(raise_hard_limits());
  findings.add(in_child(raise_oom_protection));
  return findings.verdict();
}

std::vector<std::string> cgroup_directories() {
  std::vector<std::string> directories = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified",
                                          "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"};
  const std::string text = read_text("/proc/self/cgroup").value_or("");
  for (std::size_t line = 0; line < text.size(); line = text.find('\n', line) + 1) {
    const auto controllers = text.find(':', line) + 1;
    const auto path = text.find(':', controllers);
    const auto end = text.find('\n', line);
    if (path == std::string::npos || end == std::string::npos) break;
    directories.push_back("/sys/fs/cgroup/" + text.substr(controllers, path - controllers) +
                          text.substr(path + 1, end - path - 1));
  }
  return directories;
}

Verdict loosen_cgroup(const Arguments&) {
  Findings findings;
  for (const auto& directory : cgroup_directories()) {
    for (const auto* file : {"memory.max", "memory.limit_in_bytes", "pids.max", "cpu.max",
                             "cgroup.procs", "cgroup.kill", "tasks", "release_agent"}) {
      findings.add(try_open(directory + "/" + file, O_WRONLY));
    }
  }
  return findings.verdict();
}

// Linux gives a core dump to the host's handler even with a limit of zero, but not with one byte.
bool may_start_a_handler() {
  rlimit limit{};
  (void)::setrlimit(RLIMIT_CORE, &limit);
  return ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur != 1;
}

[[noreturn]] void crash_with_core(const char* directory) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_CORE, &limit);
  }
  (void)::prctl(PR_SET_DUMPABLE, 1);
  if (::chdir(directory) != 0) ::_exit(1);
  std::abort();
}

Verdict dump_core(const Arguments&) {
  const ScratchPath directory("core");
  if (::mkdir(directory.c_str(), 0700) != 0) return unexpected("mkdir " + error_name(errno));
  const pid_t child = ::fork();
  if (child < 0) return unexpected("fork " + error_name(errno));
  if (child == 0) crash_with_core(directory.c_str());
  int status = 0;
  ::waitpid(child, &status, 0);
  for (const auto& name : entries_of(directory.get())) {
    ::unlink((directory.get() + "/" + name).c_str());
  }
  if (!WIFSIGNALED(status)) return unexpected("the child did not crash");
  if (WCOREDUMP(status)) return opened("the kernel dumped a core");
  return may_start_a_handler() ? opened("the host's handler of core dumps can be started")
                               : refused("no core was dumped");
}

// ENOMEM means that the host has set no huge pages aside, which is safe too.
Verdict huge_pages(const Arguments&) {
  constexpr std::size_t kHugePage = 2U << 20U;
  const Rules rules{.refusals = {EPERM, EACCES, ENOSYS, ENOMEM, EINVAL}};
  Findings findings;
  findings.add(try_call(
      "mmap MAP_HUGETLB",
      [] {
        void* page = ::mmap(nullptr, kHugePage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
        return page == MAP_FAILED ? -1 : 0;
      },
      rules));
  findings.add(try_call(
      "shmget SHM_HUGETLB", [] { return ::syscall(SYS_shmget, 0, kHugePage, 04000 | 0600); },
      rules));
  return findings.verdict();
}

}  // namespace

Probes process_probes() {
  return {
      {"PR-15", "orphans", "leave many orphans to init", "COUNT", orphan_flood},
      {"PR-16", "kill-all", "kill pid 1 and kill(-1)", "kill-everything", kill_everything},
      {"PR-17", "priority", "nice, realtime, mlock, hard limits, oom_score_adj", "", take_priority},
      {"PR-20", "own-cgroup", "open the own cgroup's limits for writing", "", loosen_cgroup},
      {"PR-23", "core-dump", "crash with a core dump", "", dump_core},
      {"PR-24", "huge-pages", "allocate huge pages past the memory limit", "", huge_pages},
  };
}

}  // namespace nutshell::probe
