#include "http/precedence.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace nutshell::http {
namespace {

using namespace std::chrono_literals;
using Class = Precedence::Class;

int policy_of_this_thread() {
  return ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

TEST(Precedence, IsLostByABusyThreadAndRegainedByAnIdleOne) {
  EXPECT_EQ(Precedence::after(Class::First, 51ms, 100ms), Class::Usual);
  EXPECT_EQ(Precedence::after(Class::First, 40ms, 100ms), Class::First);
  EXPECT_EQ(Precedence::after(Class::Usual, 40ms, 100ms), Class::Usual);
  EXPECT_EQ(Precedence::after(Class::Usual, 20ms, 100ms), Class::First);
}

TEST(Precedence, IsNotInheritedByThreadsThatItsThreadStarts) {
  Class got = Class::Usual;
  int policy = -1;
  int policy_of_child = -1;
  std::thread([&] {
    const Precedence precedence;
    got = precedence.current();
    policy = policy_of_this_thread();
    std::thread([&] { policy_of_child = policy_of_this_thread(); }).join();
  }).join();
  EXPECT_EQ(policy, got == Class::First ? SCHED_RR : SCHED_OTHER);
  EXPECT_EQ(policy_of_child, SCHED_OTHER);
}

TEST(Precedence, EndsForAThreadThatIsBusy) {
  std::thread([] {
    Precedence precedence;
    if (precedence.current() == Class::Usual) GTEST_SKIP() << "no right to go first";
    // A thread of class First that never waits counts as busy, whatever else the machine does.
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (precedence.current() == Class::First && std::chrono::steady_clock::now() < end) {
      const auto pause = std::chrono::steady_clock::now() + 5ms;
      while (std::chrono::steady_clock::now() < pause) {
      }
      precedence.look();
    }
    EXPECT_EQ(precedence.current(), Class::Usual);
    EXPECT_EQ(policy_of_this_thread(), SCHED_OTHER);
  }).join();
}

}  // namespace
}  // namespace nutshell::http
