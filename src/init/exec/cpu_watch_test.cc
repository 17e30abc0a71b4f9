// A share of a core that is only watched: measured, and attacked. The bounds are wide, because the
// machine has other work to do; the share is so small that even a busy machine would give more.
#include "init/exec/cpu_watch.h"

#include <gmock/gmock.h>
#include <sched.h>

#include "init/init_fixture.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class CpuWatchTest : public InitTest {
 protected:
  void configure(InitSetup& setup) override {
    setup.watched_millicpus = 100;
    cpu_set_t one;
    ASSERT_EQ(::sched_getaffinity(0, sizeof one, &one), 0);
    const unsigned cpu = first_of(one);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  }

  static unsigned first_of(const cpu_set_t& set) {
    unsigned cpu = 0;
    while (!CPU_ISSET(cpu, &set))
      ++cpu;
    return cpu;
  }

  static ExecRequest python(const std::string& program) {
    ExecRequest request = shell("");
    request.argv = {"python3", "-c", program};
    return request;
  }

  // Prints its share of one core, in percent.
  static constexpr const char* kShare = R"(
import time
def share(seconds):
    start, used = time.monotonic(), time.process_time()
    while time.monotonic() < start + seconds: pass
    return round(100 * (time.process_time() - used) / (time.monotonic() - start))
)";
};

TEST_F(CpuWatchTest, BusyProcessGetsItsShare) {
  const auto [result, output, error] = run(python(std::string(kShare) + "print(share(2))"));
  EXPECT_EQ(error, "");
  EXPECT_GE(std::stoi(output), 4);
  EXPECT_LE(std::stoi(output), 18);
}

TEST_F(CpuWatchTest, ProcessThatSleepsIsNotSlowedDown) {
  const auto [result, output, error] = run(python(R"(
import time
late = 0
for i in range(100):
    before = time.monotonic()
    time.sleep(0.01)
    late = max(late, time.monotonic() - before)
print(round(late * 1000))
)"));
  EXPECT_LE(std::stoi(output), 500) << error;
  EXPECT_EQ(result.exit_code, 0);
}

TEST_F(CpuWatchTest, SiblingsThatContinueEachOtherGainNothing) {
  const auto [result, output, error] = run(python(R"(
import os, signal, time, resource
start = time.monotonic()
pids = []
for i in range(4):
    pid = os.fork()
    if pid == 0:
        while time.monotonic() < start + 2:
            for other in range(2, os.getpid() + 4):
                try: os.kill(other, signal.SIGCONT)
                except OSError: pass
        os._exit(0)
    pids.append(pid)
for pid in pids: os.waitpid(pid, 0)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(round(100 * (used.ru_utime + used.ru_stime) / (time.monotonic() - start)))
)"));
  EXPECT_EQ(error, "");
  EXPECT_LE(std::stoi(output), 20);
}

// The kernel's timers continue it every other millisecond for six seconds.
TEST_F(CpuWatchTest, TimersThatContinueTheirProcessGainNothing) {
  const auto [result, output, error] = run(python(R"(
import ctypes, signal, time
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int),
                ("pad", ctypes.c_int * 12)]
class Times(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("is", "in", "vs", "vn")]
signal.signal(signal.SIGCONT, lambda *_: None)  # one that is ignored may never be sent
libc = ctypes.CDLL(None, use_errno=True)
for i in range(1, 3000):
    timer, event = ctypes.c_void_p(), Event(None, signal.SIGCONT, 0)
    assert libc.timer_create(1, ctypes.byref(event), ctypes.byref(timer)) == 0
    once = Times(0, 0, i * 2 // 1000, i * 2000000 % 1000000000)
    assert libc.timer_settime(timer, 0, ctypes.byref(once), None) == 0
print("armed", flush=True)
start = time.monotonic()
while time.monotonic() < start + 4: pass
)"));
  EXPECT_EQ(output, "armed\n") << error;
  EXPECT_LT(result.cpu_time, result.duration / 10 + 900ms);
}

// The processes live and die between two looks, and their times are lost: no parent waits for them.
TEST_F(CpuWatchTest, ProcessesThatLiveShortlyAreCountedToo) {
  const auto [result, output, error] = run(python(R"(
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
start, running = time.monotonic(), 0.0
while time.monotonic() < start + 2:
    before = time.monotonic()
    if os.fork() == 0: os._exit(0)
    step = time.monotonic() - before
    if step < 0.01: running += step
print(round(100 * running / (time.monotonic() - start)))
)"));
  EXPECT_EQ(error, "");
  EXPECT_LE(std::stoi(output), 25);
}

TEST_F(CpuWatchTest, ProcessesStoppedInsideStayStopped) {
  const auto [result, output, error] = run(python(std::string(kShare) + R"(
import os, signal
child = os.fork()
if child == 0:
    while True: pass
time.sleep(0.1)
os.kill(child, signal.SIGSTOP)
os.waitpid(child, os.WUNTRACED)
before = open(f"/proc/{child}/stat").read().split()[13]
share(1)
state, after = (open(f"/proc/{child}/stat").read().split()[i] for i in (2, 13))
print(state, after == before)
os.kill(child, signal.SIGCONT)
share(0.5)
print(open(f"/proc/{child}/stat").read().split()[13] != before)
os.kill(child, signal.SIGKILL)
)"));
  EXPECT_EQ(output, "T True\nTrue\n") << error;
}

TEST_F(CpuWatchTest, ParentIsNotToldOfTheStops) {
  const auto [result, output, error] = run(python(R"(
import os, time
child = os.fork()
if child == 0:
    start = time.monotonic()
    while time.monotonic() < start + 2: pass
    os._exit(5)
stops = 0
while True:
    pid, status = os.waitpid(child, os.WUNTRACED)
    if not os.WIFSTOPPED(status): break
    stops += 1
print(stops, os.waitstatus_to_exitcode(status))
)"));
  EXPECT_EQ(output, "0 5\n") << error;
}

TEST_F(CpuWatchTest, TimeoutKillsWhatIsHalted) {
  ExecRequest request = shell("yes >/dev/null & yes >/dev/null");
  request.limits.timeout = 1s;
  const auto [result, output, error] = run(request);
  EXPECT_EQ(result.outcome, Outcome::TimedOut);
  EXPECT_LT(result.duration, 15s);
  EXPECT_EQ(count_processes("yes"), 0);
}

TEST_F(CpuWatchTest, BackgroundProcessesKeepToTheCpuShareToo) {
  run(shell("(while :; do :; done) >/dev/null 2>&1 & echo $! >left"));
  const auto [result, output, error] = run(
      shell("ticks() { cut -d' ' -f14 /proc/$(cat left)/stat; }; a=$(ticks); sleep 2; b=$(ticks); "
            "kill -9 $(cat left); echo $((b - a))"));
  EXPECT_EQ(error, "");
  EXPECT_LE(std::stoi(output), 45);  // hundredths of two seconds
  EXPECT_GE(std::stoi(output), 4);
}

}  // namespace
}  // namespace nutshell::init
