// KS: namespaces, mounts, other processes and attacks on the filter.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>

#include "probe.h"

namespace nutshell::probe {
namespace {

constexpr const char* kNoSuchPath = "/nutshell-no-such-path";
constexpr const char* kNoSuchType = "nutshell-no-such-type";
constexpr unsigned long kNewTime = 0x80;  // CLONE_NEWTIME; its bit is a signal number in clone()

Verdict new_user_namespace(const Arguments&) {
  return try_call("unshare(CLONE_NEWUSER)", [] { return ::unshare(CLONE_NEWUSER); });
}

long clone_with(unsigned long flags) {
  const long child = ::syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) ::_exit(0);
  if (child > 0) ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  return child;
}

long clone3_with(std::uint64_t flags) {
  std::array<std::uint64_t, 11> arguments{};
  arguments[0] = flags;
  arguments[4] = SIGCHLD;
  const long child = ::syscall(SYS_clone3, arguments.data(), sizeof(arguments));
  if (child == 0) ::_exit(0);
  if (child > 0) ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  return child;
}

Verdict clone_user_namespace(const Arguments&) {
  Findings findings;
  findings.add(try_call("clone(CLONE_NEWUSER)", [] { return clone_with(CLONE_NEWUSER); }));
  findings.add(try_call("clone(CLONE_NEWUSER|CLONE_NEWNS)",
                        [] { return clone_with(CLONE_NEWUSER | CLONE_NEWNS); }));
  findings.add(try_call("clone3(CLONE_NEWUSER)", [] { return clone3_with(CLONE_NEWUSER); }));
  return findings.verdict();
}

Verdict new_namespaces(const Arguments&) {
  struct Kind {
    const char* name;
    unsigned long flag;
  };
  Findings findings;
  for (const auto& kind :
       {Kind{"mnt", CLONE_NEWNS}, Kind{"net", CLONE_NEWNET}, Kind{"pid", CLONE_NEWPID},
        Kind{"uts", CLONE_NEWUTS}, Kind{"ipc", CLONE_NEWIPC}, Kind{"cgroup", CLONE_NEWCGROUP},
        Kind{"time", kNewTime}}) {
    findings.add(try_call(std::string("unshare ") + kind.name,
                          [&] { return ::syscall(SYS_unshare, kind.flag); }));
    if (kind.flag == kNewTime) continue;
    findings.add(
        try_call(std::string("clone ") + kind.name, [&] { return clone_with(kind.flag); }));
  }
  return findings.verdict();
}

Verdict nested_mount(const Arguments&) {
  return in_child([] {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return judge("unshare", -1, errno);
    const int result = ::mount("none", ".", kNoSuchType, 0, nullptr);
    return judge("mount", result, errno, let_through({ENODEV}));
  });
}

Verdict join_namespaces_of(const std::string& process) {
  Findings findings;
  for (const auto* name : {"user", "mnt", "net", "pid", "uts", "ipc", "cgroup"}) {
    const std::string path = "/proc/" + process + "/ns/" + name;
    findings.add(in_child([&] {
      const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!file.is_open()) return judge("open " + path, -1, errno, path_rules());
      const long result = ::syscall(SYS_setns, file.get(), 0);
      return judge("setns " + path, result, errno);
    }));
  }
  return findings.verdict();
}

Verdict join_namespaces(const Arguments&) {
  Findings findings;
  findings.add(join_namespaces_of("1"));
  findings.add(join_namespaces_of("self"));
  findings.add(in_child([] {
    const Descriptor init(static_cast<int>(::syscall(SYS_pidfd_open, 1, 0)));
    const long result = ::syscall(SYS_setns, init.get(), CLONE_NEWNET | CLONE_NEWIPC);
    return judge("setns by pidfd", result, errno);
  }));
  return findings.verdict();
}

Verdict old_mount_calls(const Arguments&) {
  Findings findings;
  findings.add(try_call(
      "mount", [] { return ::mount("none", ".", kNoSuchType, 0, nullptr); },
      let_through({ENODEV})));
  findings.add(try_call(
      "bind mount", [] { return ::mount(kNoSuchPath, ".", nullptr, MS_BIND, nullptr); },
      let_through({ENOENT})));
  findings.add(try_call(
      "umount2", [] { return ::umount2("/proc", MNT_EXPIRE); },
      let_through({EAGAIN, EBUSY, EINVAL})));
  findings.add(try_call(
      "pivot_root", [] { return ::syscall(SYS_pivot_root, kNoSuchPath, kNoSuchPath); },
      let_through({ENOENT})));
  findings.add(try_call("chroot", [] { return ::chroot("/"); }));
  return findings.verdict();
}

Verdict new_mount_calls(const Arguments&) {
  const std::array<std::uint64_t, 4> read_only = {1, 0, 0, 0};  // MOUNT_ATTR_RDONLY
  const auto bad_target = let_through({ENOENT, EBADF, EINVAL});
  Findings findings;
  findings.add(try_call(
      "fsopen", [] { return ::syscall(SYS_fsopen, kNoSuchType, 0); }, let_through({ENODEV})));
  findings.add(try_call(
      "fspick", [] { return ::syscall(SYS_fspick, AT_FDCWD, kNoSuchPath, 0); }, bad_target));
  findings.add(
      try_call("fsconfig", [] { return ::syscall(SYS_fsconfig, -1, 0, nullptr, nullptr, 0); }));
  findings.add(try_call(
      "fsmount", [] { return ::syscall(SYS_fsmount, -1, 0, 0); }, bad_target));
  findings.add(try_call(
      "open_tree",
      [] { return ::syscall(SYS_open_tree, AT_FDCWD, kNoSuchPath, 1 /* OPEN_TREE_CLONE */); },
      bad_target));
  findings.add(try_call(
      "move_mount",
      [] { return ::syscall(SYS_move_mount, AT_FDCWD, kNoSuchPath, AT_FDCWD, kNoSuchPath, 0); },
      bad_target));
  findings.add(try_call(
      "mount_setattr",
      [&] {
        return ::syscall(SYS_mount_setattr, AT_FDCWD, kNoSuchPath, 0, read_only.data(),
                         sizeof(read_only));
      },
      bad_target));
  return findings.verdict();
}

// PTRACE_SEIZE does not stop its target and ends with the tracer, so it does no harm if allowed.
void look_into(pid_t process, Findings& findings) {
  const std::string name = " of " + std::to_string(process);
  char byte = 0;
  const iovec local{.iov_base = &byte, .iov_len = 1};
  const iovec remote{.iov_base = nullptr, .iov_len = 1};
  const auto unmapped = let_through({EFAULT});
  findings.add(try_call("PTRACE_SEIZE" + name,
                        [&] { return ::ptrace(PTRACE_SEIZE, process, nullptr, nullptr); }));
  findings.add(try_call(
      "process_vm_readv" + name,
      [&] { return ::process_vm_readv(process, &local, 1, &remote, 1, 0); }, unmapped));
  findings.add(try_call(
      "process_vm_writev" + name,
      [&] { return ::process_vm_writev(process, &local, 1, &remote, 1, 0); }, unmapped));
  findings.add(try_call("pidfd_getfd" + name, [&] {
    const Descriptor target(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    return target.is_open() ? ::syscall(SYS_pidfd_getfd, target.get(), 0, 0) : -1;
  }));
  findings.add(try_call(
      "kcmp" + name, [&] { return ::syscall(SYS_kcmp, process, ::getpid(), 1 /* VM */, 0, 0); }));
}

Verdict look_into_processes(const Arguments&) {
  Findings findings;
  look_into(1, findings);
  return findings.verdict();
}

long install_filter() {
  std::array<sock_filter, 1> allow = {sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog program{.len = allow.size(), .filter = allow.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

// Browsers install a filter of their own. That must work, and one that allows all must not weaken
// the sandbox's.
Verdict stack_filter(const Arguments&) {
  return in_child([] {
    if (install_filter() != 0) return unexpected("the own filter " + error_name(errno));
    const int result = ::unshare(CLONE_NEWUSER);
    return judge("under the own filter unshare(CLONE_NEWUSER)", result, errno);
  });
}

Verdict run_from_memory(int program) {
  std::array<int, 2> output{};
  if (::pipe2(output.data(), O_CLOEXEC) != 0) return unexpected("pipe2 " + error_name(errno));
  const Descriptor reader(output[0]);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(output[1], 1);
    const std::array<const char*, 3> words = {"nutshell-probe", "KS-01", nullptr};
    const std::array<const char*, 1> environment = {nullptr};
    ::syscall(SYS_execveat, program, "", words.data(), environment.data(), AT_EMPTY_PATH);
    ::_exit(errno == EACCES || errno == EPERM || errno == ENOSYS ? 100 : 101);
  }
  ::close(output[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) return refused("killed by SIGSYS");
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == 100) return refused("execveat of a memfd is refused");
  if (code == 0) return refused("a program in a memfd has the same filter");
  if (code == 1) return opened("a program in a memfd has no filter");
  return unexpected("the program in a memfd ended with " + std::to_string(code));
}

Verdict program_in_memory(const Arguments&) {
  const Descriptor self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!self.is_open() || ::fstat(self.get(), &about) != 0) {
    return unexpected("/proc/self/exe " + error_name(errno));
  }
  const Descriptor program(::memfd_create("program", MFD_CLOEXEC));
  if (!program.is_open()) return judge("memfd_create", -1, errno);
  off_t position = 0;
  while (position < about.st_size) {
    const auto rest = static_cast<std::size_t>(about.st_size - position);
    if (::sendfile(program.get(), self.get(), &position, rest) <= 0) {
      return unexpected("sendfile " + error_name(errno));
    }
  }
  return run_from_memory(program.get());
}

// The file permissions let a process write these files of its own: only Landlock, or a read-only
// /proc, refuses.
Verdict landlock_in_force(const Arguments&) {
  Findings findings;
  for (const auto* path :
       {"/proc/self/comm", "/proc/self/timerslack_ns", "/proc/self/clear_refs"}) {
    findings.add(try_open(path, O_WRONLY));
  }
  return findings.verdict();
}

void* wait_for_signal(void* /*unused*/) {
  ::pause();
  return nullptr;
}

Verdict every_thread_filtered(const Arguments&) {
  for (int number = 0; number < 3; ++number) {
    pthread_t thread{};
    if (::pthread_create(&thread, nullptr, wait_for_signal, nullptr) != 0) {
      return unexpected("pthread_create failed");
    }
  }
  Findings findings;
  for (const auto& thread : entries_of("/proc/self/task")) {
    const auto status = read_text("/proc/self/task/" + thread + "/status").value_or("");
    const std::string mode = field_of(status, "Seccomp");
    findings.add(mode == "2" ? refused("thread " + thread + " has mode 2")
                             : opened("thread " + thread + " has mode " + mode));
  }
  return findings.verdict();
}

}  // namespace

Probes namespace_probes() {
  return {
      {"KS-01", "user-namespace", "unshare(CLONE_NEWUSER)", "", new_user_namespace},
      {"KS-02", "clone-user", "clone and clone3 with CLONE_NEWUSER", "", clone_user_namespace},
      {"KS-03", "namespaces", "unshare and clone of the other namespaces", "", new_namespaces},
      {"KS-04", "nested-mount", "mount in a nested user namespace", "", nested_mount},
      {"KS-05", "setns", "join the namespaces of pid 1", "", join_namespaces},
      {"KS-06", "mount", "mount, umount2, pivot_root, chroot", "", old_mount_calls},
      {"KS-07", "new-mount", "fsopen, fsmount, open_tree, move_mount, mount_setattr", "",
       new_mount_calls},
      {"KS-08", "ptrace", "ptrace, process_vm_*, pidfd_getfd, kcmp on pid 1", "",
       look_into_processes},
      {"KS-25", "stacked-filter", "loosen the filter with an own one", "", stack_filter},
      {"KS-28", "memfd-program", "run a program from memory past the policy", "",
       program_in_memory},
      {"KS-30", "landlock", "write own /proc files that only Landlock protects", "",
       landlock_in_force},
      {"KS-31", "threads", "find a thread without the filter", "", every_thread_filtered},
  };
}

}  // namespace nutshell::probe
