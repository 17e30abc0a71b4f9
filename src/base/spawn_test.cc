#include "base/spawn.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/pipe.h"
#include "base/scratch_fixture.h"
#include "base/signal_fixture.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Runs the command to its end and returns its standard output.
std::string output_of(Command command) {
  auto pipe = make_pipe();
  EXPECT_TRUE(pipe);
  command.output = pipe->write.get();
  auto child = spawn(command);
  EXPECT_TRUE(child) << child.error().message;
  if (!child) return {};
  pipe->write.reset();
  auto text = read_all(pipe->read.get(), 1U << 20U);
  const auto status = child->wait(Deadline::in(10s));
  EXPECT_TRUE(status && *status && WIFEXITED(**status) && WEXITSTATUS(**status) == 0);
  return text.value_or("");
}

TEST(Spawn, GivesAProgramNoneOfOurSignals) {
  const DaemonSignals daemon;
  expect_clean_signals(output_of({{"cat", "/proc/self/status"}}));
}

TEST(Spawn, LeavesOtherSignalsIgnored) {
  void (*const before)(int) = std::signal(SIGHUP, SIG_IGN);
  const std::string status = output_of({{"cat", "/proc/self/status"}});
  std::signal(SIGHUP, before);
  EXPECT_NE(signals_in(status, "SigIgn:") & (1ULL << (SIGHUP - 1U)), 0U) << status;
}

TEST(Spawn, ConnectsTheStreams) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  ASSERT_TRUE(write_all(pipe->write.get(), "said"));
  pipe->write.reset();
  EXPECT_EQ(output_of({.arguments = {"cat"}, .input = pipe->read.get()}), "said");
  EXPECT_EQ(output_of({.arguments = {"cat"}}), "");  // the null device
  const Command third{.arguments = {"sh", "-c", "echo kept >&3"}};
  auto extra = make_pipe();
  ASSERT_TRUE(extra);
  Command command = third;
  command.third = extra->write.get();
  EXPECT_EQ(output_of(command), "");
  extra->write.reset();
  EXPECT_EQ(read_all(extra->read.get(), 100).value_or(""), "kept\n");
}

TEST(Spawn, SetsDirectoryEnvironmentAndSession) {
  const ScratchDirectory scratch;
  EXPECT_EQ(output_of({.arguments = {"pwd"}, .program = "/bin/pwd", .directory = scratch.path()}),
            std::filesystem::canonical(scratch.path()).native() + "\n");
  EXPECT_EQ(output_of({.arguments = {"/usr/bin/env"}, .environment = Command::Environment::Empty}),
            "");
  const std::string session = std::to_string(::getsid(0)) + "\n";
  const Command own{.arguments = {"sh", "-c", "cut -d' ' -f6 /proc/$$/stat"}};
  EXPECT_EQ(output_of(own), session);
  Command other = own;
  other.session = Command::Session::Own;
  EXPECT_NE(output_of(other), session);
}

TEST(Spawn, AddsVariablesInPlaceOfThoseOfTheSameName) {
  Command command{.arguments = {"sh", "-c", "echo \"$HOME $NUTSHELL_NEW ${PATH:+path}\""},
                  .variables = {"HOME=/new home", "NUTSHELL_NEW=a=b"}};
  EXPECT_EQ(output_of(command), "/new home a=b path\n");
  command = {.arguments = {"/usr/bin/env"},
             .environment = Command::Environment::Empty,
             .variables = {"A=1"}};
  EXPECT_EQ(output_of(command), "A=1\n");
}

TEST(Spawn, ClosesInheritedDescriptorsWhenAsked) {
  const int leaked = ::dup(STDIN_FILENO);  // without close-on-exec
  ASSERT_GE(leaked, 3);
  const std::string test = "test -e /proc/self/fd/" + std::to_string(leaked) + " && echo there; :";
  Command command{.arguments = {"sh", "-c", test}};
  EXPECT_EQ(output_of(command), "there\n");
  command.others = Command::OtherDescriptors::Closed;
  EXPECT_EQ(output_of(command), "");
  ::close(leaked);
}

TEST(Spawn, NamesAProgramThatIsMissing) {
  const auto child = spawn({{"nutshell-no-such-program"}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, ErrorCode::NotFound);
  EXPECT_THAT(child.error().message, HasSubstr("start nutshell-no-such-program"));
}

}  // namespace
}  // namespace nutshell
