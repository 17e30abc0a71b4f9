// One command in a new sandbox: its results, its limits, and its isolation.
#include "conformance_fixture.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class RunConformance : public Conformance {};

TEST_P(RunConformance, GivesOutputErrorAndStatus) {
  const Captured captured = run(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(captured.output, "out\n");
  EXPECT_EQ(captured.error, "err\n");
  EXPECT_EQ(captured.result.outcome, Outcome::Exited);
  EXPECT_EQ(captured.result.exit_code, 3);
}

TEST_P(RunConformance, PassesArgumentsAndVariablesAsTheyAre) {
  ExecRequest request = shell("printf '<%s>' \"$@\"; printf %s \"$MINE\"");
  request.argv.insert(request.argv.end(), {"sh", "a b", "", "$(id)", "*"});
  request.environment = {"MINE=a  b"};
  EXPECT_EQ(run(request).output, "<a b><><$(id)><*>a  b");
}

TEST_P(RunConformance, UnknownCommandIsAResult) {
  ExecRequest request;
  request.argv = {"no-such-command"};
  EXPECT_EQ(run(request).result.exit_code, 127);
}

TEST_P(RunConformance, SignalIsAResult) {
  const ExecResult result = run(shell("kill -SEGV $$")).result;
  EXPECT_EQ(result.outcome, Outcome::Signalled);
  EXPECT_EQ(result.signal, 11);
}

TEST_P(RunConformance, IsAPlainUserInItsWorkspace) {
  EXPECT_EQ(output_of("id -u; id -g; pwd"), "1000\n1000\n/workspace\n");
}

TEST_P(RunConformance, HasNoNetworkButLoopback) {
  EXPECT_EQ(output_of("grep -c : /proc/net/dev; grep -o lo: /proc/net/dev"), "1\nlo:\n");
}

TEST_P(RunConformance, CannotWriteOutsideItsScratch) {
  EXPECT_EQ(output_of("for d in / /usr /etc /bin; do touch $d/x 2>/dev/null && echo wrote $d; done;"
                      "touch /workspace/x /tmp/x && echo scratch"),
            "scratch\n");
}

TEST_P(RunConformance, DoesNotSeeTheCallersEnvironment) {
  ASSERT_EQ(::setenv("NUTSHELL_CONFORMANCE_SECRET", "hunter2", 1), 0);
  const std::string environment = output_of("env; cat /proc/1/environ 2>/dev/null");
  EXPECT_THAT(environment, HasSubstr("PATH="));
  EXPECT_THAT(environment, Not(HasSubstr("hunter2")));
}

TEST_P(RunConformance, SeesNoProcessesButItsOwn) {
  // init, the shell, and what the shell runs
  EXPECT_LE(std::stoi(output_of("ls -d /proc/[0-9]* | wc -l")), 4);
}

TEST_P(RunConformance, LeavesNothingForTheNext) {
  EXPECT_EQ(output_of("echo x > /workspace/left; echo x > /tmp/left; ls /workspace"), "left\n");
  EXPECT_EQ(output_of("ls /workspace /tmp | grep left"), "");
}

TEST_P(RunConformance, TimeoutEndsIt) {
  ExecRequest request = shell("echo begun; sleep 1000 & sleep 1000");
  request.limits.timeout = 500ms;
  const Captured captured = run(request);
  EXPECT_EQ(captured.result.outcome, Outcome::TimedOut);
  EXPECT_EQ(captured.output, "begun\n");
  EXPECT_LT(captured.result.duration, 10s);
}

TEST_P(RunConformance, OutputLimitEndsIt) {
  ExecRequest request = shell("yes");
  request.limits.output_bytes = 10'000;
  const Captured captured = run(request);
  EXPECT_EQ(captured.result.outcome, Outcome::OutputLimit);
  EXPECT_EQ(captured.output.size(), 10'000U);
}

TEST_P(RunConformance, MemoryLimitEndsIt) {
  spec_.limits.memory_bytes = 64ULL << 20U;
  const Captured captured = run(shell("head -c 1000000000 /dev/zero | tail -c 900000000 | wc -c"));
  EXPECT_NE(captured.output, "900000000\n");
}

TEST_P(RunConformance, MemoryLimitIsNamedAsTheReason) {
  spec_.limits.memory_bytes = 64ULL << 20U;
  ExecRequest request;
  request.argv = {"tail", "/dev/zero"};  // looks for the end of a line and keeps all of it
  const Captured captured = run(request);
  // If the limit holds for each process, the command itself reports that memory ran out.
  if (captured.result.outcome == Outcome::Exited) {
    EXPECT_NE(captured.result.exit_code, 0);
    EXPECT_THAT(captured.error, HasSubstr("memory"));
  } else {
    EXPECT_EQ(captured.result.outcome, Outcome::OutOfMemory);
  }
}

TEST_P(RunConformance, ProcessLimitHolds) {
  spec_.limits.processes = 8;
  // The shell prints it, and ends at the first process that it cannot start.
  const std::string started =
      output_of("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & echo x; done 2>/dev/null");
  EXPECT_LE(started.size() / 2, 8U);
  EXPECT_GE(started.size() / 2, 1U);
}

TEST_P(RunConformance, DiskLimitHolds) {
  spec_.limits.disk_bytes = 4ULL << 20U;
  EXPECT_EQ(output_of("head -c 3000000 /dev/zero > /workspace/a && echo fits;"
                      "head -c 3000000 /dev/zero > /tmp/b 2>/dev/null || echo full"),
            "fits\nfull\n");
}

TEST_P(RunConformance, OpenFileLimitHolds) {
  spec_.limits.open_files = 32;
  EXPECT_EQ(output_of("ulimit -n; ulimit -Hn"), "32\n32\n");
}

TEST_P(RunConformance, RefusesWhatCannotBeKept) {
  wire::CapturedOutput io;
  SandboxSpec unlimited = spec_;
  unlimited.limits.memory_bytes = 0;
  EXPECT_EQ(runtime_->run(unlimited, shell("true"), io).error().code, ErrorCode::InvalidArgument);
  SandboxSpec strict = spec_;
  strict.requirements = {{"a-moat", false}};
  EXPECT_EQ(runtime_->run(strict, shell("true"), io).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(runtime_->run(spec_, ExecRequest{}, io).error().code, ErrorCode::InvalidArgument);
}

TEST_P(RunConformance, RefusesAnImageThatIsNotThere) {
  wire::CapturedOutput io;
  spec_.image = "/no/such/image";
  EXPECT_FALSE(runtime_->run(spec_, shell("true"), io));
}

TEST_P(RunConformance, SaysWhatItIsProtectedBy) {
  const auto protections = runtime_->check(spec_);
  ASSERT_TRUE(protections) << protections.error().message;
  for (const char* name : {"network", "filesystem", "memory", "cpus", "processes"}) {
    EXPECT_TRUE(std::any_of(protections->begin(), protections->end(), [&](const Protection& item) {
      return item.name == name;
    })) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, RunConformance, testing::ValuesIn(backend_names()), name_of);

}  // namespace
}  // namespace nutshell
