#include "init/init.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <thread>

#include "base/file.h"
#include "init/init_fixture.h"
#include "wire/schema.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST_F(InitTest, ExecGetsItsArgumentsEnvironmentAndDirectory) {
  ExecRequest request = shell("printf '<%s>' \"$@\"; printf \" $FROM $MINE \"; pwd");
  request.argv.insert(request.argv.end(), {"sh", "a b", "", "*"});
  request.environment = {"MINE=own"};
  request.working_directory = "/usr";
  EXPECT_EQ(run(request).output, "<a b><><*> sandbox own /usr\n");
  EXPECT_EQ(run(shell("pwd")).output, scratch_.path().native() + "\n");
}

TEST_F(InitTest, ExecsVariableReplacesTheSandboxs) {
  ExecRequest request = shell("env | grep -c ^FROM=; echo $FROM");
  request.environment = {"FROM=exec"};
  EXPECT_EQ(run(request).output, "1\nexec\n");
}

TEST_F(InitTest, OutputAndErrorStayApart) {
  const Captured captured = run(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(captured.output, "out\n");
  EXPECT_EQ(captured.error, "err\n");
  EXPECT_EQ(captured.result.outcome, Outcome::Exited);
  EXPECT_EQ(captured.result.exit_code, 3);
  EXPECT_EQ(captured.result.stdout_bytes, 4U);
}

TEST_F(InitTest, ACommandThatClosedOneStreamIsStillHeardOnTheOther) {
  const Captured captured = run(shell("exec >&-; echo soon >&2; sleep 0.05; echo late >&2"));
  EXPECT_EQ(captured.error, "soon\nlate\n");
  EXPECT_EQ(run(shell("exec 2>&-; seq 100000")).result.stdout_bytes, 588895U);
}

TEST_F(InitTest, InputIsEmptyUnlessStreamed) {
  EXPECT_EQ(run(shell("cat")).output, "");
}

// Input from a text, through a pipe.
class TextInput : public wire::CapturedOutput {
 public:
  explicit TextInput(std::string text) : text_(std::move(text)) {
    always_readable_ = std::move(*open_file("/dev/null", O_RDONLY));
  }
  [[nodiscard]] int input_descriptor() const override { return always_readable_.get(); }
  std::string read_input(std::size_t most) override {
    std::string part = text_.substr(0, most);
    text_.erase(0, most);
    return part;
  }

 private:
  std::string text_;
  UniqueFd always_readable_;
};

TEST_F(InitTest, InputLargerThanEveryWindowArrivesWhole) {
  std::string text;
  for (int i = 0; i < 400'000; ++i)
    text += std::to_string(i) + "\n";
  TextInput io(text);
  ExecRequest request = shell("cat");
  request.standard_input = StandardInput::Streamed;
  const auto result = client().exec(request, io);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(io.output == text) << io.output.size() << " of " << text.size();
}

TEST_F(InitTest, InputNobodyReadsDoesNotHoldTheEndUp) {
  TextInput io(std::string(5U << 20U, 'x'));
  ExecRequest request = shell("head -c 3");
  request.standard_input = StandardInput::Streamed;
  const auto result = client().exec(request, io);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->outcome, Outcome::Exited);
  EXPECT_EQ(io.output, "xxx");
}

TEST_F(InitTest, UnknownCommandIsAResultAsInAShell) {
  ExecRequest request;
  request.argv = {"no-such-command"};
  const Captured captured = run(request);
  EXPECT_EQ(captured.result.exit_code, 127);
  EXPECT_THAT(captured.result.detail, HasSubstr("not found"));
  request.argv = {"/"};
  EXPECT_EQ(run(request).result.exit_code, 126);
}

TEST_F(InitTest, MissingDirectoryIsAnError) {
  ExecRequest request = shell("true");
  request.working_directory = "/nowhere";
  wire::CapturedOutput io;
  const auto result = client().exec(request, io);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::NotFound);
}

TEST_F(InitTest, EndComesAfterAllOutput) {
  wire::InitClient own = client();
  std::string expected;
  for (int i = 1; i <= 5000; ++i)
    expected += std::to_string(i) + "\n";
  for (int round = 0; round < 20; ++round) {
    wire::CapturedOutput io;
    const auto result = own.exec(shell("seq 1 5000"), io);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_TRUE(io.output == expected) << "round " << round;
    EXPECT_EQ(result->stdout_bytes, expected.size());
    EXPECT_FALSE(result->stdout_truncated);
  }
}

TEST_F(InitTest, ProcessInTheBackgroundDoesNotHoldTheEndUpAndLivesOn) {
  const Captured captured = run(shell("sleep 1000 & echo started"));
  EXPECT_EQ(captured.output, "started\n");
  EXPECT_LT(captured.result.duration, 10s);
  EXPECT_THAT(captured.result.detail, HasSubstr("left running: 1 process, until"));
  // The shell may have ended before its child became a sleep.
  const auto patience = std::chrono::steady_clock::now() + 10s;
  while (count_processes("sleep") != 1 && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(count_processes("sleep"), 1);
}

TEST_F(InitTest, TimeoutKillsTheWholeTree) {
  ExecRequest request = shell(
      "trap '' TERM INT HUP; setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &)"
      "; echo up; sleep 1000");
  request.limits.timeout = 400ms;
  const Captured captured = run(request);
  EXPECT_EQ(captured.result.outcome, Outcome::TimedOut);
  EXPECT_EQ(captured.output, "up\n");
  EXPECT_EQ(count_processes("sleep"), 0);
}

TEST_F(InitTest, OutputLimitEndsTheCommandAtThatByte) {
  ExecRequest request = shell("yes | cat");
  request.limits.output_bytes = 100'001;
  const Captured captured = run(request);
  EXPECT_EQ(captured.result.outcome, Outcome::OutputLimit);
  EXPECT_EQ(captured.output.size(), 100'001U);
  EXPECT_TRUE(captured.result.stdout_truncated);
  EXPECT_EQ(count_processes("yes"), 0);
}

TEST_F(InitTest, CpuTimeIsCountedOverTheTree) {
  ExecRequest request = shell("(while :; do :; done) & while :; do :; done");
  request.limits.cpu_time = 1s;
  EXPECT_EQ(run(request).result.outcome, Outcome::TimedOut);
}

TEST_F(InitTest, SignalFromInsideIsTheCommandsEnd) {
  const Captured captured = run(shell("kill -SEGV $$"));
  EXPECT_EQ(captured.result.outcome, Outcome::Signalled);
  EXPECT_EQ(captured.result.signal, SIGSEGV);
}

TEST_F(InitTest, CommandCannotKillInit) {
  EXPECT_EQ(run(shell("kill -KILL 1; kill -TERM 1; echo alive")).output, "alive\n");
  EXPECT_TRUE(client().ping());
}

// A reader that stops after the first bytes, like `head`.
class FirstBytes : public wire::ExecIo {
 public:
  Taken take(wire::Stream /*stream*/, std::string_view /*bytes*/) override {
    return Taken::ReaderGone;
  }
};

TEST_F(InitTest, WriterWithoutAReaderGetsSigpipe) {
  FirstBytes io;
  ExecRequest request;
  request.argv = {"yes"};
  const auto result = client().exec(request, io);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->outcome, Outcome::Signalled);
  EXPECT_EQ(result->signal, SIGPIPE);
}

TEST_F(InitTest, OwnersEndEndsInitAndEverythingInIt) {
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("a", "sleep 1000"));
  ASSERT_TRUE(channel.send_all(Deadline::in(10s)));
  control_.reset();
  const auto status = init_.wait(Deadline::in(20s));
  ASSERT_TRUE(status && *status);
  EXPECT_EQ(**status, kEndedByOwner);
}

// Reads the output of a conversation until it holds `wanted`.
std::string hear_until(wire::Channel& channel, const std::string& wanted) {
  std::string text;
  while (text.find(wanted) == std::string::npos) {
    const auto frame = channel.receive(Deadline::in(20s));
    if (!frame || frame->type != wire::MessageType::Output) return text + "(end)";
    text += wire::decode<wire::Output>(frame->payload)->bytes;
  }
  return text;
}

TEST_F(InitTest, TerminalHasASizeThatCanChange) {
  wire::Channel channel(connect());
  wire::Exec exec = wire_exec("a",
                              "trap 'stty size; exit 4' WINCH; stty size;"
                              "while :; do sleep 0.02; done");
  exec.request.terminal = Terminal::Pty;
  exec.request.window = {11, 22};
  channel.queue(1, exec);
  EXPECT_THAT(hear_until(channel, "11 22"), HasSubstr("11 22"));
  channel.queue(1, wire::Resize{33, 44});
  EXPECT_THAT(hear_until(channel, "33 44"), HasSubstr("33 44"));
}

TEST_F(InitTest, TerminalIsOneAndErrorsGoThereToo) {
  ExecRequest request = shell("test -t 0 && test -t 1 && test -t 2 && echo terminal >&2");
  request.terminal = Terminal::Pty;
  EXPECT_EQ(run(request).output, "terminal\r\n");
}

TEST_F(InitTest, SignalReachesTheCommand) {
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("a",
                             "trap 'echo caught; exit 7' USR1; echo ready;"
                             "while :; do sleep 0.02; done"));
  EXPECT_EQ(hear_until(channel, "ready\n"), "ready\n");
  channel.queue(1, wire::Signal{SIGUSR1});
  EXPECT_THAT(hear_until(channel, "caught\n"), HasSubstr("caught\n"));
}

TEST_F(InitTest, SuspendedProcessesStandStillAndGoOn) {
  wire::InitClient own = client();
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("a", "while :; do echo tick; sleep 0.01; done"));
  EXPECT_THAT(hear_until(channel, "tick"), HasSubstr("tick"));
  ASSERT_TRUE(own.suspend());
  auto frame = channel.receive(Deadline::in(100ms));
  while (frame)
    frame = channel.receive(Deadline::in(100ms));  // what was on its way
  EXPECT_EQ(frame.error().code, ErrorCode::DeadlineExceeded);
  ASSERT_TRUE(own.resume());
  EXPECT_THAT(hear_until(channel, "tick"), HasSubstr("tick"));
}

struct Told {
  UniqueFd control;
  UniqueFd stream;
  ChildProcess process;
};

bool start_init_in(Told& told, std::chrono::milliseconds ttl) {
  UniqueFd inside;
  UniqueFd stream_inside;
  std::tie(told.control, inside) = std::move(*make_socket_pair(SocketKind::Packets));
  std::tie(told.stream, stream_inside) = std::move(*make_socket_pair(SocketKind::Stream));
  auto started = start_in_pid_namespace([&] {
    told.control.reset();
    told.stream.reset();
    InitSetup setup;
    setup.control = std::move(inside);
    setup.connection = std::move(stream_inside);
    setup.ttl = ttl;
    setup.working_directory = "/";
    return run_init(std::move(setup));
  });
  if (started) told.process = std::move(*started);
  return started.has_value();
}

TEST_F(PidNamespaceTest, InitEndsWhenItIsToldTo) {
  Told told;
  ASSERT_TRUE(start_init_in(told, 1s));
  wire::InitClient client(std::move(told.stream));
  ASSERT_TRUE(client.call<wire::Done>(wire::SetTimeLeft{~0ULL}));
  std::this_thread::sleep_for(1200ms);
  ASSERT_TRUE(client.ping());  // beyond its first ttl
  ASSERT_TRUE(client.call<wire::Done>(wire::SetTimeLeft{100}));
  const auto status = told.process.wait(Deadline::in(20s));
  ASSERT_TRUE(status && *status);
  EXPECT_EQ(WEXITSTATUS(**status), kEndedByTtl);
}

TEST_F(PidNamespaceTest, InitEndsAtItsTtlAndSaysWhatHappened) {
  Told told;
  ASSERT_TRUE(start_init_in(told, 300ms));
  wire::CapturedOutput io;
  const auto result = wire::InitClient(std::move(told.stream)).exec(shell("sleep 1000"), io);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->outcome, Outcome::Lost);
  EXPECT_THAT(result->detail, HasSubstr("ttl"));
  const auto status = told.process.wait(Deadline::in(20s));
  ASSERT_TRUE(status && *status);
  EXPECT_EQ(WEXITSTATUS(**status), kEndedByTtl);
}

}  // namespace
}  // namespace nutshell::init
