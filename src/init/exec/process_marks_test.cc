#include "init/exec/process_marks.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>

#include "init/exec/pid_namespace_fixture.h"
#include "init/exec/process_stat.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

constexpr Mark kMark = 4711;

class ProcessMarksTest : public PidNamespaceTest {};

// Starts a child with the mark that runs `body`.
template <typename Body>
pid_t start_marked(Body body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  if (ProcessMarks::put_on_self(kMark) != 0) ::_exit(1);
  body();
  ::_exit(0);
}

void sleep_for_ever() {
  for (;;)
    ::pause();
}

// Shared by all processes that come from here.
struct Shared {
  std::atomic<int> ready{0};
  std::atomic<int> born{0};
};
Shared& make_shared_page() {
  void* page =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (page) Shared;
}
bool comes_to(const std::atomic<int>& counter, int value) {
  const Deadline patience = Deadline::in(20s);
  while (counter < value && !patience.has_passed())
    ::sched_yield();
  return counter >= value;
}

TEST_F(ProcessMarksTest, MarkIsInheritedAndRead) {
  EXPECT_EQ(status_in_pid_namespace([] {
              Shared& shared = make_shared_page();
              const pid_t child = start_marked([&] {
                ++shared.ready;
                sleep_for_ever();
              });
              if (!comes_to(shared.ready, 1)) return 1;
              const ProcessMarks marks;
              if (ProcessMarks::of(child) != kMark || ProcessMarks::of(::getpid()) != 0) return 2;
              return marks.living(kMark) == std::vector<pid_t>{child} ? 0 : 3;
            }),
            0);
}

TEST_F(ProcessMarksTest, GrandchildThatLeftEverythingBehindIsKilled) {
  EXPECT_EQ(status_in_pid_namespace([] {
              Shared& shared = make_shared_page();
              const pid_t child = start_marked([&] {
                if (::fork() != 0) ::_exit(0);  // its child is adopted by PID 1
                ::setsid();
                if (::fork() != 0) ::_exit(0);
                ::signal(SIGTERM, SIG_IGN);
                ++shared.ready;
                sleep_for_ever();
              });
              ::waitpid(child, nullptr, 0);
              if (!comes_to(shared.ready, 1)) return 1;
              const ProcessMarks marks;
              const Deadline patience = Deadline::in(20s);  // those in between are still leaving
              while (marks.living(kMark).size() > 1 && !patience.has_passed())
                ::sched_yield();
              if (marks.living(kMark).size() != 1) return 2;
              if (marks.kill_all(kMark, Deadline::in(10s)) != 0) return 3;
              return marks.living(kMark).empty() ? 0 : 4;
            }),
            0);
}

// In /proc it looks like a zombie.
TEST_F(ProcessMarksTest, ProcessWhoseFirstThreadHasEndedIsKilled) {
  EXPECT_EQ(status_in_pid_namespace([] {
              Shared& shared = make_shared_page();
              const pid_t child = start_marked([&] {
                std::thread([&] {
                  ++shared.ready;
                  sleep_for_ever();
                }).detach();
                ::syscall(SYS_exit, 0);
              });
              if (!comes_to(shared.ready, 1)) return 1;
              const ProcessMarks marks;
              const Deadline patience = Deadline::in(10s);
              while (read_process_stat(marks.proc(), child)->state != 'Z') {
                if (patience.has_passed()) return 2;
              }
              if (marks.living(kMark) != std::vector<pid_t>{child}) return 3;
              if (marks.kill_all(kMark, Deadline::in(10s)) != 0) return 4;
              int status = 0;
              if (::waitpid(child, &status, 0) != child) return 5;
              return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : 6;
            }),
            0);
}

TEST_F(ProcessMarksTest, OthersAreSpared) {
  EXPECT_EQ(status_in_pid_namespace([] {
              Shared& shared = make_shared_page();
              const pid_t other = ::fork();
              if (other == 0) sleep_for_ever();
              start_marked([&] {
                ++shared.ready;
                sleep_for_ever();
              });
              if (!comes_to(shared.ready, 1)) return 1;
              const ProcessMarks marks;
              if (marks.kill_all(kMark, Deadline::in(10s)) != 0) return 2;
              return marks.living(ProcessMarks::kAnyMark) == std::vector<pid_t>{other} ? 0 : 3;
            }),
            0);
}

// Every process forks as fast as it can, until a fixed number was forked in all: RLIMIT_NPROC does
// not bind root.
[[noreturn]] void multiply(Shared& shared) {
  constexpr int kMostBorn = 600;
  while (++shared.born < kMostBorn) {
    if (::fork() == 0) ++shared.ready;
  }
  sleep_for_ever();
  ::_exit(1);
}

TEST_F(ProcessMarksTest, ForkBombIsKilledFasterThanItForks) {
  EXPECT_EQ(status_in_pid_namespace([] {
              ::signal(SIGCHLD, SIG_IGN);  // the dead are not to be waited for
              Shared& shared = make_shared_page();
              start_marked([&] {
                const rlimit most{800, 800};
                ::setrlimit(RLIMIT_NPROC, &most);
                multiply(shared);
              });
              if (!comes_to(shared.ready, 50)) return 1;
              const ProcessMarks marks;
              if (marks.kill_all(kMark, Deadline::in(20s)) != 0) return 2;
              const int born = shared.born;
              ::usleep(20'000);
              return marks.living(kMark).empty() && shared.born == born ? 0 : 3;
            }),
            0);
}

TEST_F(ProcessMarksTest, CpuTimeOfTheTreeIsCounted) {
  EXPECT_EQ(status_in_pid_namespace([] {
              start_marked([] {
                for (;;) {
                }
              });
              const ProcessMarks marks;
              const Deadline patience = Deadline::in(20s);
              while (marks.cpu_time(kMark) < 20ms && !patience.has_passed())
                ::usleep(1000);
              return marks.cpu_time(kMark) >= 20ms ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace nutshell::init
