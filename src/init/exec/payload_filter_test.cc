#include "init/exec/payload_filter.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/seccomp_filter.h"

namespace nutshell {
namespace {

constexpr long kUpperHalf = 1L << 32U;  // the kernel ignores it where it wants an int

// Returns the error number of a call under the filter, 0 if it succeeds. Calls it in a child,
// because a filter cannot be removed.
template <typename Call>
int error_of(PayloadRules rules, Call call) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!set_no_new_privileges() || !install_seccomp_filter(payload_filter(rules))) ::_exit(255);
    ::_exit(call() == -1 ? errno : 0);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

template <typename Call>
int error_of(Call call) {
  return error_of(PayloadRules::Free, call);
}

TEST(PayloadFilter, RefusesToTypeIntoTheTerminal) {
  EXPECT_EQ(error_of([] { return ::syscall(SYS_ioctl, -1, TIOCSTI, nullptr); }), EPERM);
  EXPECT_EQ(error_of([] { return ::syscall(SYS_ioctl, -1, TIOCLINUX, nullptr); }), EPERM);
}

TEST(PayloadFilter, IsNotFooledByTheUpperHalfOfAnArgument) {
  EXPECT_EQ(error_of([] { return ::syscall(SYS_ioctl, -1, kUpperHalf | TIOCSTI, 0); }), EPERM);
  rlimit limit{};
  EXPECT_EQ(error_of([&] { return ::syscall(SYS_setrlimit, kUpperHalf | RLIMIT_LOCKS, &limit); }),
            EPERM);
  EXPECT_EQ(error_of([&] {
              return ::syscall(SYS_prlimit64, 0, kUpperHalf | RLIMIT_LOCKS, &limit, nullptr);
            }),
            EPERM);
}

TEST(PayloadFilter, LeavesOtherTerminalCallsAlone) {
  EXPECT_EQ(error_of([] { return ::syscall(SYS_ioctl, -1, TIOCGWINSZ, 0); }), EBADF);
}

TEST(PayloadFilter, RefusesToWriteOutTheWholeMachine) {
  for (const auto rules :
       {PayloadRules::Free, PayloadRules::Pinned, PayloadRules::Watched, PayloadRules::Resident}) {
    EXPECT_EQ(error_of(rules, [] { return ::syscall(SYS_sync); }), EPERM);
    EXPECT_EQ(error_of(rules, [] { return ::syscall(SYS_syncfs, -1); }), EPERM);
    EXPECT_EQ(error_of(rules, [] { return ::syscall(SYS_fsync, -1); }), EBADF);
  }
}

TEST(PayloadFilter, KeepsTheMarkOfAnExec) {
  rlimit limit{};
  EXPECT_EQ(error_of([&] { return ::setrlimit(RLIMIT_LOCKS, &limit); }), EPERM);
  EXPECT_EQ(error_of([&] { return ::prlimit(0, RLIMIT_LOCKS, &limit, nullptr); }), EPERM);
}

TEST(PayloadFilter, SeesALimitAtAnAddressWhoseLowerHalfIsZero) {
  EXPECT_EQ(error_of([] { return ::syscall(SYS_prlimit64, 0, RLIMIT_LOCKS, kUpperHalf, 0); }),
            EPERM);
}

TEST(PayloadFilter, LetsTheMarkBeRead) {
  rlimit limit{};
  EXPECT_EQ(error_of([&] { return ::prlimit(0, RLIMIT_LOCKS, nullptr, &limit); }), 0);
  EXPECT_EQ(error_of([&] { return ::getrlimit(RLIMIT_LOCKS, &limit); }), 0);
}

TEST(PayloadFilter, LeavesOtherLimitsAlone) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(error_of([&] { return ::syscall(SYS_setrlimit, RLIMIT_NOFILE, &limit); }), 0);
  EXPECT_EQ(error_of([&] { return ::prlimit(0, RLIMIT_NOFILE, &limit, nullptr); }), 0);
}

TEST(PayloadFilter, KeepsTheCpusOnlyWherePinned) {
  cpu_set_t cpus;
  ASSERT_EQ(::sched_getaffinity(0, sizeof cpus, &cpus), 0);
  const auto keep_cpus = [&] { return ::sched_setaffinity(0, sizeof cpus, &cpus); };
  EXPECT_EQ(error_of(PayloadRules::Free, keep_cpus), 0);
  EXPECT_EQ(error_of(PayloadRules::Pinned, keep_cpus), EPERM);
  EXPECT_EQ(error_of(PayloadRules::Watched, keep_cpus), EPERM);
}

TEST(PayloadFilter, RefusesMemoryThatCannotBeCountedOnlyWhereItIsWatched) {
  using enum PayloadRules;
  const auto map = [](int flags) {
    return
        [flags] { return ::mmap(nullptr, 4096, PROT_READ, flags, -1, 0) == MAP_FAILED ? -1 : 0; };
  };
  const auto splice_memory = [] { return ::syscall(SYS_vmsplice, -1, nullptr, 0, 0); };
  const auto make_memfd = [] { return ::memfd_create("test", MFD_CLOEXEC) < 0 ? -1 : 0; };
  for (const auto rules : {Free, Pinned}) {
    EXPECT_EQ(error_of(rules, map(MAP_SHARED | MAP_ANONYMOUS)), 0);
    EXPECT_EQ(error_of(rules, splice_memory), EBADF);
    EXPECT_EQ(error_of(rules, make_memfd), 0);
  }
  EXPECT_EQ(error_of(Watched, map(MAP_SHARED | MAP_ANONYMOUS)), EPERM);
  EXPECT_EQ(error_of(Watched, map(MAP_SHARED_VALIDATE | MAP_ANONYMOUS)), EPERM);
  EXPECT_EQ(error_of(Watched, map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB)), EPERM);
  EXPECT_EQ(error_of(Watched, map(MAP_PRIVATE | MAP_ANONYMOUS)), 0);
  EXPECT_EQ(error_of(Watched, map(MAP_SHARED)), EBADF);
  EXPECT_EQ(error_of(Watched, splice_memory), EPERM);
  EXPECT_EQ(error_of(Watched, make_memfd), ENOSYS);
}

TEST(PayloadFilter, HasTheSameRulesWherePinned) {
  rlimit limit{};
  EXPECT_EQ(error_of(PayloadRules::Pinned, [] { return ::syscall(SYS_ioctl, -1, TIOCSTI, 0); }),
            EPERM);
  EXPECT_EQ(
      error_of(PayloadRules::Pinned, [&] { return ::prlimit(0, RLIMIT_LOCKS, &limit, nullptr); }),
      EPERM);
}

TEST(PayloadFilter, KeepsTheOtherMarkWhereThatIsTheOne) {
  using enum PayloadRules;
  rlimit limit{};
  EXPECT_EQ(error_of(Resident, [] { return ::syscall(SYS_ioctl, -1, TIOCSTI, 0); }), EPERM);
  EXPECT_EQ(error_of(Resident, [&] { return ::setrlimit(RLIMIT_RSS, &limit); }), EPERM);
  EXPECT_EQ(error_of(Resident, [&] { return ::syscall(SYS_setrlimit, RLIMIT_RSS, &limit); }),
            EPERM);
  EXPECT_EQ(error_of(Resident, [&] { return ::prlimit(0, RLIMIT_RSS, nullptr, &limit); }), 0);
  EXPECT_EQ(error_of(Resident, [&] { return ::setrlimit(RLIMIT_LOCKS, &limit); }), 0);
}

}  // namespace
}  // namespace nutshell
