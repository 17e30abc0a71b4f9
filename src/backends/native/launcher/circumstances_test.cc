#include "backends/native/launcher/circumstances.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/file.h"

namespace nutshell::native {
namespace {

// Whether a child of this process has other circumstances after this step.
bool differ_after(const std::function<bool()>& step) {
  const auto before = own_circumstances();
  const pid_t child = ::fork();
  if (child == 0) {
    if (!step()) ::_exit(2);
    const auto after = own_circumstances();
    ::_exit(after && before && *after != *before ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 2) << "the step failed";
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Circumstances, AreTheSameInAChild) {
  const auto before = own_circumstances();
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_FALSE(differ_after([] { return true; }));
}

TEST(Circumstances, DifferWithPriorityAndLimits) {
  EXPECT_TRUE(differ_after([] { return ::setpriority(PRIO_PROCESS, 0, 7) == 0; }));
  for (const auto resource : {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_NPROC, RLIMIT_CORE}) {
    EXPECT_TRUE(differ_after([resource] {
      rlimit limit{};
      if (::getrlimit(resource, &limit) != 0) return false;
      limit.rlim_cur = limit.rlim_cur == 77'777'777 ? 66'666'666 : 77'777'777;
      if (limit.rlim_max < limit.rlim_cur) limit.rlim_cur = limit.rlim_max - 1;
      return ::setrlimit(resource, &limit) == 0;
    })) << resource;
  }
}

TEST(Circumstances, DifferWithTheCpus) {
  cpu_set_t all;
  CPU_ZERO(&all);
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one CPU only";
  EXPECT_TRUE(differ_after([all]() mutable {
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &all)) continue;
      CPU_CLR(cpu, &all);
      break;
    }
    return ::sched_setaffinity(0, sizeof all, &all) == 0;
  }));
}

TEST(Circumstances, DifferWithRights) {
  EXPECT_TRUE(differ_after([] { return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0; }));
  if (::geteuid() != 0) GTEST_SKIP() << "a plain user has no capabilities to drop";
  EXPECT_TRUE(differ_after([] { return ::prctl(PR_CAPBSET_DROP, 21, 0, 0, 0) == 0; }));
}

TEST(Circumstances, DifferWithTheViewOfTheFiles) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has another mount namespace or root directory";
  EXPECT_TRUE(differ_after([] { return ::unshare(CLONE_NEWNS) == 0; }));
}

TEST(Circumstances, AProgramThatWasReplacedIsAnother) {
  const auto directory = std::filesystem::path(testing::TempDir());
  const auto program = directory / "nutshell-identity";
  ASSERT_TRUE(write_file(program, "one", 0755));
  const auto before = identity_of(program);
  ASSERT_TRUE(before);
  EXPECT_EQ(*identity_of(program), *before);
  const auto next = directory / "nutshell-identity-next";
  ASSERT_TRUE(write_file(next, "one", 0755));
  std::filesystem::rename(next, program);
  EXPECT_NE(*identity_of(program), *before);
  std::filesystem::remove(program);
  EXPECT_FALSE(identity_of(program));
}

}  // namespace
}  // namespace nutshell::native
