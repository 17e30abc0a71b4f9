#include "backends/native/cgroups/cgroup.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include <filesystem>

#include "backends/native/cgroups/cgroup_fixture.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

class CgroupTest : public CgroupTestInShapes {};

// Forks without end, in 16 processes at a time; each process lives only until it has forked.
void run_away() {
  for (int chain = 0; chain < 15; ++chain) {
    if (::fork() == 0) break;
  }
  ::setsid();
  for (;;) {
    if (::fork() > 0) ::_exit(0);
  }
}

TEST_P(CgroupTest, IsMadeInEveryHierarchyAndRemovedFromAll) {
  std::string name;
  {
    const Cgroup cgroup = make();
    name = cgroup.name();
    EXPECT_EQ(directories_of(name), static_cast<int>(host_.places().size()));
    EXPECT_EQ(cgroup.join_descriptors().size(), host_.places().size());
  }
  EXPECT_EQ(directories_of(name), 0);
}

TEST_P(CgroupTest, IsRefusedANameWithoutAnOwner) {
  for (const char* name : {"", "..", "mine", "../../1.2.3.4", "1.2.3"}) {
    const auto cgroup = Cgroup::create(host_, name);
    ASSERT_FALSE(cgroup) << name;
    EXPECT_EQ(cgroup.error().code, ErrorCode::InvalidArgument);
  }
}

TEST_P(CgroupTest, IsRefusedANameThatIsTaken) {
  const Cgroup cgroup = make();
  const auto again = Cgroup::create(host_, cgroup.name());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::AlreadyExists);
  EXPECT_EQ(directories_of(cgroup.name()), static_cast<int>(host_.places().size()));
}

TEST_P(CgroupTest, LimitsAreInTheKernelsFiles) {
  Cgroup cgroup = make();
  Limits limits;
  for (const std::uint64_t memory : {64ULL << 20U, 256ULL << 20U, 32ULL << 20U}) {
    limits.memory_bytes = memory;
    limits.processes = static_cast<std::uint32_t>(memory >> 20U);
    limits.millicpus = limits.processes * 10;
    const auto applied = cgroup.apply(limits);
    ASSERT_TRUE(applied) << applied.error().message;
    if (host_.has_memory()) {
      const auto path = path_of(cgroup, &CgroupRoles::memory);
      const auto text = std::to_string(memory) + "\n";
      EXPECT_EQ(*read_file(path + (is_v2() ? "/memory.max" : "/memory.limit_in_bytes")), text);
      const auto swap =
          read_file(path + (is_v2() ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes"));
      if (swap) {
        EXPECT_EQ(*swap, is_v2() ? "0\n" : text);
      }
      if (const auto tcp = read_file(path + "/memory.kmem.tcp.limit_in_bytes")) {  // v1 alone
        EXPECT_EQ(*tcp, std::to_string(memory / 4) + "\n");
      }
    }
    if (host_.has_pids()) {
      EXPECT_EQ(*read_file(path_of(cgroup, &CgroupRoles::pids) + "/pids.max"),
                fmt::format("{}\n", limits.processes + 1));
    }
    if (host_.has_cpu()) {
      const auto path = path_of(cgroup, &CgroupRoles::cpu);
      const auto quota = std::to_string(limits.millicpus * 100);
      EXPECT_EQ(*read_file(path + (is_v2() ? "/cpu.max" : "/cpu.cfs_quota_us")),
                is_v2() ? quota + " 100000\n" : quota + "\n");
    }
  }
}

TEST_P(CgroupTest, LimitsInForceAreNotWrittenAgain) {
  if (!host_.has_pids()) GTEST_SKIP() << "no pids controller: " << host_.why_not();
  Cgroup cgroup = make();
  const auto file = path_of(cgroup, &CgroupRoles::pids) + "/pids.max";
  ASSERT_TRUE(cgroup.apply({}));
  ASSERT_TRUE(write_value(file, "9"));
  ASSERT_TRUE(cgroup.apply({}));
  EXPECT_EQ(*read_file(file), "9\n");
}

TEST_P(CgroupTest, ForksStopAtTheLimit) {
  if (!host_.has_pids()) GTEST_SKIP() << "no pids controller: " << host_.why_not();
  Cgroup cgroup = make();
  Limits limits;
  limits.processes = 5;
  ASSERT_TRUE(cgroup.apply(limits));
  const pid_t child = run_inside(cgroup, [] {
    int forks = 0;
    for (pid_t pid = ::fork(); pid >= 0; pid = ::fork()) {
      if (pid == 0) sleep_forever();
      ++forks;
    }
    ::_exit(forks);
  });
  EXPECT_EQ(WEXITSTATUS(status_of(child)), 5);
  ASSERT_TRUE(cgroup.kill_all(soon()));
}

TEST_P(CgroupTest, IsEnteredByAChildClonedIntoIt) {
  Cgroup cgroup = make();
  if (cgroup.clone_directory() < 0) GTEST_SKIP() << "the group has no v2 directory";
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<__u64>(cgroup.clone_directory());
  const auto child = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
  ASSERT_GE(child, 0) << errno;
  if (child == 0) {
    if (Cgroup::join_by(cgroup.join_descriptors_after_clone()) != 0) ::_exit(99);
    const auto text = read_file("/proc/self/cgroup").value_or("");
    std::size_t found = 0;
    for (auto at = text.find(cgroup.name()); at != std::string::npos;
         at = text.find(cgroup.name(), at + 1)) {
      ++found;
    }
    ::_exit(found == cgroup.join_descriptors().size() ? 0 : 1);
  }
  EXPECT_EQ(status_of(child), 0);
}

TEST_P(CgroupTest, CountsWhatIsInside) {
  Cgroup cgroup = make();
  const pid_t child = run_inside(cgroup, [] {
    touch_memory(8U << 20U);
    const auto end = Clock::now() + 30ms;
    while (Clock::now() < end) {
    }
    ::raise(SIGSTOP);
  });
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  EXPECT_EQ(cgroup.process_count().value_or(0), 1U);
  const auto cpu_time = cgroup.cpu_time();
  if (cpu_time) {
    EXPECT_GT(*cpu_time, 1ms);
  }
  if (host_.has_memory()) {
    EXPECT_GT(cgroup.memory_bytes().value_or(0), 8U << 20U);
    EXPECT_GT(cgroup.peak_memory_bytes().value_or(0), 8U << 20U);
  }
  ASSERT_TRUE(cgroup.kill_all(soon()));
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
}

TEST_P(CgroupTest, CountsOutOfMemoryKills) {
  if (!host_.has_memory()) GTEST_SKIP() << "no memory controller: " << host_.why_not();
  Cgroup cgroup = make();
  Limits limits;
  limits.memory_bytes = 16U << 20U;
  ASSERT_TRUE(cgroup.apply(limits));
  const auto events = cgroup.open_oom_events();
  ASSERT_TRUE(events) << events.error().message;
  const auto read_events = [&] {
    std::string text(4096, '\0');
    const ssize_t size = ::pread(events->get(), text.data(), text.size(), 0);
    return Cgroup::parse_oom_kills(std::string_view(text.data(), static_cast<std::size_t>(size)));
  };
  EXPECT_EQ(read_events(), 0U);
  const pid_t child = run_inside(cgroup, [] { touch_memory(64U << 20U); });
  const int status = status_of(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(read_events(), 1U);
  EXPECT_EQ(cgroup.oom_kills().value_or(0), 1U);
  EXPECT_LE(cgroup.peak_memory_bytes().value_or(0), limits.memory_bytes);
}

TEST_P(CgroupTest, ManyLivesLeaveNoDescriptorAndNoDirectory) {
  const auto descriptors = [] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      (void)entry;
      ++count;
    }
    return count;
  };
  const auto before = descriptors();
  for (int i = 0; i < 100; ++i) {
    Cgroup cgroup = make();
    ASSERT_TRUE(cgroup.apply({}));
    const Cgroup moved = std::move(cgroup);
  }
  EXPECT_EQ(descriptors(), before);
  for (int i = 1; i <= 100; ++i) {
    EXPECT_EQ(directories_of(fmt::format("{}.{}", *cgroup_owner_name(), i)), 0);
  }
}

TEST_P(CgroupTest, IsAsNewAfterRecycling) {
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

TEST_P(CgroupTest, IsNotRecycledWhileSomethingIsInside) {
  Cgroup cgroup = make();
  const pid_t child = run_inside(cgroup, sleep_forever);
  const auto recycled = cgroup.recycle(Deadline::in(10ms));
  ASSERT_FALSE(recycled);
  EXPECT_EQ(recycled.error().code, ErrorCode::DeadlineExceeded);
  ASSERT_TRUE(cgroup.kill_all(soon()));
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
  EXPECT_TRUE(cgroup.recycle(soon()));
}

TEST_P(CgroupTest, ZombieKeepsItFromBeingRecycled) {
  if (!host_.has_pids()) GTEST_SKIP() << "no pids controller: " << host_.why_not();
  Cgroup cgroup = make();
  const pid_t child = run_inside(cgroup, [] {});
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(cgroup.recycle(Deadline::in(10ms)));
  (void)status_of(child);
  EXPECT_TRUE(cgroup.recycle(soon()));
}

TEST_P(CgroupTest, FreezesAndThaws) {
  if (!host_.has_freezer()) GTEST_SKIP() << "no freezer: " << host_.why_not();
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

TEST_P(CgroupTest, IsKilledAndRemovedWhileFrozen) {
  if (!host_.has_freezer()) GTEST_SKIP() << "no freezer: " << host_.why_not();
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

TEST_P(CgroupTest, CanBeUsedAgainAfterItWasKilledWhileFrozen) {
  if (!host_.has_freezer()) GTEST_SKIP() << "no freezer: " << host_.why_not();
  Cgroup cgroup = make();
  const pid_t child = run_inside(cgroup, sleep_forever);
  ASSERT_TRUE(cgroup.freeze(soon()));
  ASSERT_TRUE(cgroup.kill_all(soon()));
  (void)status_of(child);
  ASSERT_TRUE(cgroup.recycle(soon()));
  EXPECT_EQ(status_of(run_inside(cgroup, [] {})), 0);
}

TEST_P(CgroupTest, ForkBombLeavesNothing) {
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
  while (::waitpid(-1, nullptr, 0) > 0) {  // this process is the reaper of what was forked
  }
  EXPECT_EQ(cgroup.process_count().value_or(9), 0U);
  EXPECT_TRUE(cgroup.recycle(soon()));
}

TEST_P(CgroupTest, ProcessesThatKeepMovingOnDoNotEscape) {
  Cgroup cgroup = make();
  ASSERT_TRUE(cgroup.apply({}));
  ::signal(SIGCHLD, SIG_IGN);  // so that the kernel reaps the orphans
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
TEST_P(CgroupTest, ProcessWithoutItsFirstThreadIsKilled) {
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

TEST_P(CgroupTest, GroupsBelowAreKilledAndRemovedToo) {
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

INSTANTIATE_TEST_SUITE_P(Shapes, CgroupTest, all_shapes(), name_of_shape);

TEST(CgroupOomEvents, AreReadInEitherVersion) {
  EXPECT_EQ(Cgroup::parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), 3U);
  EXPECT_EQ(Cgroup::parse_oom_kills("low 0\nhigh 0\nmax 5\noom 2\noom_kill 1\noom_group_kill 9\n"),
            1U);
  EXPECT_EQ(Cgroup::parse_oom_kills("oom_kill 4"), 4U);
  EXPECT_EQ(Cgroup::parse_oom_kills(""), 0U);
  EXPECT_EQ(Cgroup::parse_oom_kills("oom_kill"), 0U);
  EXPECT_EQ(Cgroup::parse_oom_kills("oom_kill x\n"), 0U);
}

}  // namespace
}  // namespace nutshell::native
