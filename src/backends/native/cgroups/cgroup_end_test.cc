#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include <filesystem>

#include "backends/native/cgroups/cgroup_fixture.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

class CgroupEndTest : public CgroupTestInShapes {};

// Ends in the middle of its work when it is one of many: every process lives for one fork only.
void run_away() {
  for (int chain = 0; chain < 15; ++chain) {
    if (::fork() == 0) break;
  }
  ::setsid();
  for (;;) {
    if (::fork() > 0) ::_exit(0);
  }
}

TEST_P(CgroupEndTest, IsAsNewAfterRecycling) {
  Cgroup cgroup = make();
  Limits limits;
  limits.memory_bytes = 16U << 20U;
  ASSERT_TRUE(cgroup.apply(limits));
  (void)status_of(run_inside(cgroup, [] { touch_memory(64U << 20U); }));
  const auto recycled = cgroup.recycle(soon());
  ASSERT_TRUE(recycled) << recycled.error().message;
  EXPECT_EQ(cgroup.process_count().value_or(9), 0U);
  if (const auto cpu_time = cgroup.cpu_time()) {
    EXPECT_LT(*cpu_time, 1ms);
  }
  if (host_.has_memory()) {
    EXPECT_EQ(cgroup.oom_kills().value_or(9), 0U);
    const auto peak = cgroup.peak_memory_bytes();
    if (peak) {
      EXPECT_LT(*peak, 8U << 20U);
    }
    if (!peak) {
      EXPECT_EQ(peak.error().code, ErrorCode::Unsupported);
    }
  }
  (void)status_of(run_inside(cgroup, [] { touch_memory(6U << 20U); }));
  if (host_.has_memory()) {
    EXPECT_EQ(cgroup.oom_kills().value_or(9), 0U);
  }
}

TEST_P(CgroupEndTest, IsNotRecycledWhileSomethingIsInside) {
  Cgroup cgroup = make();
  const pid_t child = run_inside(cgroup, sleep_forever);
  const auto recycled = cgroup.recycle(Deadline::in(10ms));
  ASSERT_FALSE(recycled);
  EXPECT_EQ(recycled.error().code, ErrorCode::DeadlineExceeded);
  ASSERT_TRUE(cgroup.kill_all(soon()));
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
  EXPECT_TRUE(cgroup.recycle(soon()));
}

TEST_P(CgroupEndTest, ZombieKeepsItFromBeingRecycled) {
  if (!host_.has_pids()) GTEST_SKIP() << "no pids controller: " << host_.why_not();
  Cgroup cgroup = make();
  const pid_t child = run_inside(cgroup, [] {});
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(cgroup.recycle(Deadline::in(10ms)));
  (void)status_of(child);
  EXPECT_TRUE(cgroup.recycle(soon()));
}

TEST_P(CgroupEndTest, FreezesAndThaws) {
  if (!host_.has_freezer()) GTEST_SKIP() << "nothing here can freeze";
  Cgroup cgroup = make();
  auto* counter = static_cast<volatile std::uint64_t*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = run_inside(cgroup, [counter] {
    for (;;)
      *counter = *counter + 1;
  });
  while (*counter == 0)
    ::usleep(100);
  const auto frozen = cgroup.freeze(soon());
  ASSERT_TRUE(frozen) << frozen.error().message;
  const std::uint64_t before = *counter;
  ::usleep(20'000);
  EXPECT_EQ(*counter, before);
  ASSERT_TRUE(cgroup.thaw(soon()));
  for (int i = 0; i < 5000 && *counter == before; ++i)
    ::usleep(1000);
  EXPECT_GT(*counter, before);
  ASSERT_TRUE(cgroup.kill_all(soon()));
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
}

TEST_P(CgroupEndTest, IsKilledAndRemovedWhileFrozen) {
  if (!host_.has_freezer()) GTEST_SKIP() << "nothing here can freeze";
  std::string name;
  pid_t child = -1;
  {
    Cgroup cgroup = make();
    name = cgroup.name();
    child = run_inside(cgroup, sleep_forever);
    ASSERT_TRUE(cgroup.freeze(soon()));
  }
  EXPECT_EQ(directories_of(name), 0);
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
}

TEST_P(CgroupEndTest, CanBeUsedAgainAfterItWasKilledWhileFrozen) {
  if (!host_.has_freezer()) GTEST_SKIP() << "nothing here can freeze";
  Cgroup cgroup = make();
  const pid_t child = run_inside(cgroup, sleep_forever);
  ASSERT_TRUE(cgroup.freeze(soon()));
  ASSERT_TRUE(cgroup.kill_all(soon()));
  (void)status_of(child);
  ASSERT_TRUE(cgroup.recycle(soon()));
  EXPECT_EQ(status_of(run_inside(cgroup, [] {})), 0);
}

TEST_P(CgroupEndTest, ForkBombLeavesNothing) {
  if (!host_.has_pids()) GTEST_SKIP() << "no pids controller: " << host_.why_not();
  Cgroup cgroup = make();
  ASSERT_TRUE(cgroup.apply({}));
  (void)run_inside(cgroup, [] {
    for (;;)
      (void)::fork();
  });
  while (cgroup.process_count().value_or(0) < 60)
    ::usleep(1000);
  const auto killed = cgroup.kill_all(soon());
  ASSERT_TRUE(killed) << killed.error().message;
  while (::waitpid(-1, nullptr, 0) > 0) {  // what was forked falls to this process
  }
  EXPECT_EQ(cgroup.process_count().value_or(9), 0U);
  EXPECT_TRUE(cgroup.recycle(soon()));
}

TEST_P(CgroupEndTest, ProcessesThatKeepMovingOnDoNotEscape) {
  Cgroup cgroup = make();
  ASSERT_TRUE(cgroup.apply({}));
  ::signal(SIGCHLD, SIG_IGN);  // orphans that fall to this process are gone at once
  (void)run_inside(cgroup, run_away);
  ::usleep(20'000);
  const auto killed = cgroup.kill_all(soon());
  ::signal(SIGCHLD, SIG_DFL);
  ASSERT_TRUE(killed) << killed.error().message;
  const std::string name = cgroup.name();
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
  EXPECT_TRUE(cgroup.remove(soon()));
  EXPECT_EQ(directories_of(name), 0);
}

// A process whose first thread has ended is listed by a pid that looks dead.
TEST_P(CgroupEndTest, ProcessWithoutItsFirstThreadIsKilled) {
  Cgroup cgroup = make();
  const pid_t child = run_inside(cgroup, [] {
    alignas(16) static char stack[65536];
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    const auto body = [](void*) -> int {
      for (;;)
        ::syscall(SYS_pause);
    };
    ::clone(body, stack + sizeof stack, flags, nullptr);
    ::syscall(SYS_exit, 0);
  });
  ::usleep(5000);
  const auto killed = cgroup.kill_all(soon());
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
}

TEST_P(CgroupEndTest, GroupsBelowAreKilledAndRemovedToo) {
  pid_t child = -1;
  std::string name;
  {
    Cgroup cgroup = make();
    name = cgroup.name();
    for (const auto& place : host_.places()) {
      const auto path = fmt::format("{}/{}/{}/exec/deeper", place.path, kCgroupParent, name);
      ASSERT_TRUE(std::filesystem::create_directories(path));
    }
    const auto below = fmt::format("{}/{}/{}/exec/deeper/cgroup.procs", host_.places().back().path,
                                   kCgroupParent, name);
    child = run_inside(cgroup, [&below] {
      if (!write_value(below, "0")) ::_exit(98);
      sleep_forever();
    });
    ::usleep(20'000);
  }
  EXPECT_EQ(directories_of(name), 0);
  const int status = status_of(child);
  EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CgroupEndTest, all_shapes(), name_of_shape);

}  // namespace
}  // namespace nutshell::native
