#include "base/seccomp_filter.h"

#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

namespace nutshell {
namespace {

// getppid fails with EACCES, which it never does by itself.
constexpr std::array kNoParent = {
    sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
    sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_getppid},
    sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EACCES},
    sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
};

// A filter stays for good, so each one lives in a child. Returns what `probe` returned.
template <typename Probe>
int run_in_child(Probe probe) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(probe());
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(SeccompFilter, DecidesCallsOnceInstalled) {
  const int error = run_in_child([] {
    if (!set_no_new_privileges() || !install_seccomp_filter(kNoParent)) return 1;
    return ::syscall(SYS_getppid) == -1 ? errno : 0;
  });
  EXPECT_EQ(error, EACCES);
}

TEST(SeccompFilter, ReportsAnErrorNumberWhereNothingMayBeAllocated) {
  EXPECT_EQ(install_seccomp_filter_raw({}), EINVAL);
  const std::vector<sock_filter> too_long(BPF_MAXINSNS + 1, kNoParent.back());
  EXPECT_EQ(install_seccomp_filter_raw(too_long), EINVAL);
}

TEST(SeccompFilter, SaysWhatFailed) {
  const auto installed = install_seccomp_filter({});
  ASSERT_FALSE(installed);
  EXPECT_EQ(installed.error().message.find("install system-call filter"), 0U);
}

TEST(NoNewPrivileges, AreSetOnTheCaller) {
  const int value = run_in_child([] {
    if (!set_no_new_privileges()) return 100;
    return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  });
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace nutshell
