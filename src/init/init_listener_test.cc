// Init where connections cannot be passed in: it listens, and accepts none from its own payload.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include "init/init_fixture.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

class ListeningInitTest : public PidNamespaceTest {
 protected:
  void SetUp() override {
    PidNamespaceTest::SetUp();
    if (IsSkipped()) return;
    auto listener = listen_on(socket_path(), SocketKind::Stream);
    ASSERT_TRUE(listener) << listener.error().message;
    auto started = start_in_pid_namespace([&] {
      InitSetup setup;
      setup.listener = std::move(*listener);
      setup.ttl = 1min;
      setup.environment = {"PATH=/usr/bin:/bin"};
      setup.working_directory = scratch_.path();
      return run_init(std::move(setup));
    });
    ASSERT_TRUE(started) << started.error().message;
    init_ = std::move(*started);
  }

  [[nodiscard]] std::string socket_path() const { return scratch_.path() / "socket"; }

  Result<std::string> output_of(const std::string& script) {
    wire::InitClient client(TRY(connect_to(socket_path(), SocketKind::Stream)));
    wire::CapturedOutput io;
    TRY(client.exec(shell(script), io));
    return io.output;
  }

  ScratchDirectory scratch_;
  ChildProcess init_;
};

TEST_F(ListeningInitTest, ConnectionFromOutsideIsServed) {
  const auto output = output_of("echo served");
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(*output, "served\n");
}

// A payload that is served could start commands without its mark, out of every limit's reach.
TEST_F(ListeningInitTest, ConnectionFromThePayloadIsClosed) {
  const auto output = output_of(
      "python3 -c 'import socket\n"
      "peer = socket.socket(socket.AF_UNIX)\n"
      "peer.connect(\"" +
      socket_path() +
      "\")\n"
      "peer.settimeout(10)\n"
      "print(\"closed\" if peer.recv(1) == b\"\" else \"greeted\")'");
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(*output, "closed\n");
}

// The process is gone when init checks it, so its mark cannot be read.
TEST_F(ListeningInitTest, ConnectionOfAProcessThatIsGoneIsClosed) {
  const auto output = output_of(
      "python3 -c 'import os, socket\n"
      "peer = socket.socket(socket.AF_UNIX)\n"
      "child = os.fork()\n"
      "if child == 0:\n"
      "    peer.connect(\"" +
      socket_path() +
      "\")\n"
      "    os._exit(0)\n"
      "os.waitpid(child, 0)\n"
      "peer.settimeout(10)\n"
      "print(\"closed\" if peer.recv(1) == b\"\" else \"greeted\")'");
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(*output, "closed\n");
}

}  // namespace
}  // namespace nutshell::init
