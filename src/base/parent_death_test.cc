#include "base/parent_death.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace nutshell {
namespace {

constexpr int kPatienceMs = 10'000;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
  }
  UniqueFd read;
  UniqueFd write;
};

// Returns the number of bytes read before the last writer was gone; -1 if a writer is left.
long bytes_until_end(Pipe& pipe) {
  pipe.write.reset();
  long count = 0;
  for (;;) {
    pollfd entry{pipe.read.get(), POLLIN, 0};
    if (::poll(&entry, 1, kPatienceMs) <= 0) return -1;
    char byte = 0;
    if (::read(pipe.read.get(), &byte, 1) <= 0) return count;
    ++count;
  }
}

// Starts a child that starts a grandchild and dies. The grandchild runs `tie` only when its parent
// is dead, as if it had been slow; then it writes a byte and stays.
template <typename Tie>
void expect_end_of_late_child(const Tie& tie) {
  Pipe lives;
  const pid_t child = ::fork();
  if (child == 0) {
    auto own = open_own_process();
    const pid_t own_number = ::getpid();
    if (::fork() == 0) {
      pollfd end{own ? own->get() : -1, POLLIN, 0};
      ::poll(&end, 1, kPatienceMs);
      tie(own ? own->get() : -1, own_number);
      (void)!::write(lives.write.get(), "x", 1);
      ::pause();
    }
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(bytes_until_end(lives), 0);
}

TEST(ParentDeath, ChildOfADeadParentEndsAtOnce) {
  expect_end_of_late_child([](int parent, pid_t /*number*/) { (void)die_with_parent(parent); });
}

TEST(ParentDeath, ChildThatKnowsItsParentByNumberEndsAtOnce) {
  expect_end_of_late_child(
      [](int /*parent*/, pid_t number) { (void)die_with_parent_process(number); });
}

TEST(ParentDeath, ChildEndsWhenItsParentIsKilledLater) {
  Pipe lives;
  Pipe ready;
  const pid_t child = ::fork();
  if (child == 0) {
    auto own = open_own_process();
    if (::fork() == 0) {
      if (!own || !die_with_parent(own->get())) ::_exit(1);
      (void)!::write(ready.write.get(), "r", 1);
      ::pause();
    }
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready.read.get(), &byte, 1), 1);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(bytes_until_end(lives), 0);
}

TEST(ParentDeath, ChildOfALivingParentGoesOn) {
  const auto own = open_own_process();
  ASSERT_TRUE(own) << own.error().message;
  const pid_t number = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_tied = die_with_parent(own->get()) && die_with_parent_process(number);
    ::_exit(is_tied ? 42 : 43);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

}  // namespace
}  // namespace nutshell
