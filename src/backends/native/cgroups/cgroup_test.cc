#include "backends/native/cgroups/cgroup.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include <filesystem>

#include "backends/native/cgroups/cgroup_fixture.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

class CgroupTest : public CgroupTestInShapes {};

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

TEST_P(CgroupTest, IsRefusedANameThatNoSweepCouldJudge) {
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

TEST_P(CgroupTest, LimitsStandInTheKernelsFiles) {
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

TEST_P(CgroupTest, LimitsThatStandAreNotWrittenAgain) {
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
