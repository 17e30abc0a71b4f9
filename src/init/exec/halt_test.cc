#include "init/exec/halt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/exec/pid_namespace_fixture.h"
#include "init/exec/process_stat.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

class HaltTest : public PidNamespaceTest {
 protected:
  static pid_t start_sleeper() {
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (;;)
        ::pause();
    }
    return pid;
  }

  // Waits a while for the state `wanted`; returns the state, '?' if the process is gone.
  static char state_of(const ProcessMarks& marks, pid_t pid, char wanted) {
    const Deadline patience = Deadline::in(5s);
    for (;;) {
      const auto stat = read_process_stat(marks.proc(), pid);
      if (!stat) return '?';
      if (stat->state == wanted || patience.has_passed()) return stat->state;
    }
  }
};

TEST_F(HaltTest, StopsAllAndContinuesThoseItStopped) {
  EXPECT_EQ(status_in_pid_namespace([] {
              const ProcessMarks marks;
              const pid_t free = start_sleeper();
              const pid_t held = start_sleeper();
              ::kill(held, SIGSTOP);
              if (state_of(marks, held, 'T') != 'T') return 1;
              Halt halt(marks);
              halt.stop_all();
              if (state_of(marks, free, 'T') != 'T') return 2;
              halt.resume();
              if (state_of(marks, free, 'S') != 'S') return 3;
              if (state_of(marks, held, 'T') != 'T') return 4;
              return 0;
            }),
            0);
}

TEST_F(HaltTest, StopThatWasOrderedButNotReachedYetIsTheSandboxsOwn) {
  EXPECT_EQ(status_in_pid_namespace([] {
              const ProcessMarks marks;
              for (int round = 0; round < 50; ++round) {
                const pid_t pid = start_sleeper();
                ::kill(pid, SIGSTOP);
                Halt halt(marks);
                halt.stop_all();
                halt.resume();
                if (state_of(marks, pid, 'T') != 'T') return 1;
                ::kill(pid, SIGKILL);
                ::waitpid(pid, nullptr, 0);
              }
              return 0;
            }),
            0);
}

// The signal that Ctrl-Z sends.
TEST_F(HaltTest, JobControlSignalThatComesMeanwhileIsNotLost) {
  EXPECT_EQ(status_in_pid_namespace([] {
              const ProcessMarks marks;
              const pid_t pid = start_sleeper();
              ::setpgid(pid, pid);  // a group whose parent is in the session: not orphaned
              Halt halt(marks);
              halt.stop_all();
              if (state_of(marks, pid, 'T') != 'T') return 1;
              ::kill(pid, SIGTSTP);
              halt.resume();
              int status = 0;
              if (::waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status)) return 2;
              return WSTOPSIG(status) == SIGTSTP ? 0 : 3;
            }),
            0);
}

TEST_F(HaltTest, ProcessThatIsContinuedIsStoppedAgainAndNamed) {
  EXPECT_EQ(status_in_pid_namespace([] {
              const ProcessMarks marks;
              const pid_t pid = start_sleeper();
              Halt halt(marks);
              halt.stop_all();
              if (state_of(marks, pid, 'T') != 'T') return 1;
              ::kill(pid, SIGCONT);
              if (state_of(marks, pid, 'S') != 'S') return 2;
              if (halt.stop_again({pid}) != std::vector<pid_t>{pid}) return 3;
              if (state_of(marks, pid, 'T') != 'T') return 4;
              return halt.stop_again({pid}).empty() ? 0 : 5;
            }),
            0);
}

TEST_F(HaltTest, NoForkSlipsThrough) {
  EXPECT_EQ(status_in_pid_namespace([] {
              const ProcessMarks marks;
              ::signal(SIGCHLD, SIG_IGN);
              for (int i = 0; i < 4; ++i) {
                if (::fork() != 0) continue;
                while (::fork() == 0) {
                }
                ::_exit(0);  // the child goes on under another number
              }
              ::usleep(20'000);
              Halt halt(marks);
              halt.stop_all();
              for (const pid_t pid : marks.living(ProcessMarks::kAnyMark)) {
                const char state = state_of(marks, pid, 'T');
                if (state != 'T' && state != '?') return 1;  // one may be on its way out
              }
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace nutshell::init
