#include "backends/native/processes/process_tree.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <functional>
#include <thread>

#include "base/deadline.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

// A process in a group of its own, with everything that it starts.
class Tree {
 public:
  explicit Tree(const std::function<void()>& body) : root_(::fork()) {
    if (root_ != 0) return;
    ::setpgid(0, 0);
    body();
    for (;;)
      ::pause();
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    ::kill(-root_, SIGKILL);
    ::kill(root_, SIGKILL);  // it may not have made its group yet
    ::waitpid(root_, nullptr, 0);
  }
  [[nodiscard]] bool reaches(std::chrono::microseconds least) const {
    const Deadline patience = Deadline::in(30s);
    while (!patience.has_passed()) {
      const auto used = cpu_time_of_tree(root_);
      if (used && *used >= least) return true;
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }

 private:
  pid_t root_;
};

void spin_for(std::chrono::milliseconds time) {
  const auto ticks = static_cast<std::clock_t>(time.count() * CLOCKS_PER_SEC / 1000);
  while (std::clock() < ticks) {
  }
}

TEST(CpuTimeOfTree, CountsAGrandchild) {
  const Tree tree([] {
    if (::fork() != 0) return;
    if (::fork() == 0) spin_for(60s);
    for (;;)
      ::pause();
  });
  EXPECT_TRUE(tree.reaches(100ms));
}

TEST(CpuTimeOfTree, CountsAChildThatEndedAndWasWaitedFor) {
  const Tree tree([] {
    const pid_t child = ::fork();
    if (child == 0) {
      spin_for(150ms);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  });
  EXPECT_TRUE(tree.reaches(100ms));
}

TEST(CpuTimeOfTree, IsUnknownForAMissingProcess) {
  EXPECT_EQ(cpu_time_of_tree(1 << 30), std::nullopt);
}

}  // namespace
}  // namespace nutshell::native
