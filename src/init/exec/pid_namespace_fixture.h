// Runs code as PID 1 of a pid namespace with its own /proc. Init signals and stops "every process":
// as PID 1 it reaches those of its namespace, anywhere else the whole machine. So no test runs
// init, or kills by marks, without this.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/child_process.h"
#include "base/file.h"

namespace nutshell::init {

inline Result<> settle_in_namespaces(uid_t user, gid_t group) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return syscall_failure("prctl");
  TRY(write_value("/proc/self/setgroups", "deny"));
  TRY(write_value("/proc/self/uid_map", fmt::format("0 {} 1", user)));
  TRY(write_value("/proc/self/gid_map", fmt::format("0 {} 1", group)));
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("proc", "/proc", "proc", 0, nullptr) != 0) {
    return syscall_failure("mount /proc");
  }
  if (::getpid() != 1) return failure(ErrorCode::Internal, "not PID 1");
  return {};
}

// Starts a process whose exit status is the value of `body`.
template <typename Body>
Result<ChildProcess> start_in_pid_namespace(Body body) {
  constexpr int kNoNamespace = 250;
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  int descriptor = -1;
  const long pid =
      ::syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_PIDFD | SIGCHLD,
                nullptr, &descriptor, nullptr, nullptr);
  if (pid < 0) return syscall_failure("clone");
  if (pid == 0) ::_exit(settle_in_namespaces(user, group) ? body() : kNoNamespace);
  return ChildProcess(static_cast<pid_t>(pid), UniqueFd(descriptor));
}

// Runs `body` to its end; returns its exit status, negative if it was killed or takes too long.
template <typename Body>
int status_in_pid_namespace(Body body) {
  auto child = start_in_pid_namespace(body);
  if (!child) return -1;
  const auto status = child->wait(Deadline::in(std::chrono::seconds(60)));
  if (!status || !*status || !WIFEXITED(**status)) return -2;
  return WEXITSTATUS(**status);
}

class PidNamespaceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (status_in_pid_namespace([] { return 0; }) != 0) {
      GTEST_SKIP() << "no pid namespace can be made here: unprivileged user namespaces are off";
    }
  }
};

}  // namespace nutshell::init
