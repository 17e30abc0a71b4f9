#include "backends/native/cgroups/cgroup_name.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nutshell::native {
namespace {

TEST(CgroupName, IsReadAsItWasWritten) {
  const CgroupName name{4026531836, 1234, 987654321, 7};
  EXPECT_EQ(to_string(name), "4026531836.1234.987654321.7");
  EXPECT_EQ(parse_cgroup_name("4026531836.1234.987654321.7"), name);
}

TEST(CgroupName, InAnotherSpellingIsRefused) {
  for (const char* text : {"", "nutshell", "1.2.3", "1.2.3.4.5", "1.2.3.4.", "1.02.3.4", "1.-2.3.4",
                           "1.0.3.4", "1:2:3:4", "+1.2.3.4", " 1.2.3.4", "1.2.3.x",
                           "1.99999999999.3.4", "../1.2.3.4", "1..3.4"}) {
    EXPECT_FALSE(parse_cgroup_name(text)) << text;
  }
}

TEST(ProcessStat, IsNotFooledByTheNameOfTheProcess) {
  const auto stat = parse_process_stat(
      "42 (a) Z 1 (b)) S 1 42 42 0 -1 4194304 5 0 0 0 1 2 0 0 20 0 3 0 777 1000 10\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 42);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->threads, 3U);
  EXPECT_EQ(stat->start_time, 777U);
  EXPECT_FALSE(parse_process_stat(""));
  EXPECT_FALSE(parse_process_stat("42 (a)"));
  EXPECT_FALSE(parse_process_stat("42 (a) S 1 2 3"));
}

TEST(CgroupOwner, IsThisProcessAndAlive) {
  const auto owner = cgroup_owner();
  ASSERT_TRUE(owner) << owner.error().message;
  EXPECT_EQ(owner->pid, ::getpid());
  EXPECT_EQ(owner_state(*owner, owner->pid_namespace), OwnerState::Alive);
  EXPECT_EQ(*cgroup_owner_name() + ".0", to_string(*owner));
}

TEST(CgroupOwner, IsDeadWhenItsPidBelongsToAnother) {
  auto owner = cgroup_owner();
  ASSERT_TRUE(owner);
  owner->start_time -= 1;
  EXPECT_EQ(owner_state(*owner, owner->pid_namespace), OwnerState::Dead);
}

TEST(CgroupOwner, InAnotherPidNamespaceIsNotJudged) {
  auto owner = cgroup_owner();
  ASSERT_TRUE(owner);
  owner->start_time -= 1;
  EXPECT_EQ(owner_state(*owner, owner->pid_namespace + 1), OwnerState::Unknown);
}

TEST(CgroupOwner, IsDeadAsAZombieAndAfterwards) {
  int channel[2];
  ASSERT_EQ(::pipe(channel), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto owner = cgroup_owner();
    const bool is_sent = owner && ::write(channel[1], &*owner, sizeof *owner) == sizeof *owner;
    ::_exit(is_sent ? 0 : 1);
  }
  CgroupName name;
  ASSERT_EQ(::read(channel[0], &name, sizeof name), static_cast<ssize_t>(sizeof name));
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(owner_state(name, name.pid_namespace), OwnerState::Dead);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(owner_state(name, name.pid_namespace), OwnerState::Dead);
  ::close(channel[0]);
  ::close(channel[1]);
}

}  // namespace
}  // namespace nutshell::native
