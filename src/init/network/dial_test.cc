// Connections of the host to servers inside.
#include <gmock/gmock.h>

#include <deque>
#include <map>

#include "init/network/network_fixture.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

// Runs a server in Python that accepts one connection on this port of `address`, and answers with
// what it got, up to its end.
std::string echo_server(const std::string& family, const std::string& address) {
  return "python3 -c 'import socket\n"
         "s = socket.socket(socket." +
         family +
         ")\n"
         "s.bind((\"" +
         address +
         "\", 8080))\n"
         "s.listen()\n"
         "print(\"ready\", flush=True)\n"
         "c = s.accept()[0]\n"
         "while True:\n"
         "    part = c.recv(65536)\n"
         "    if not part: break\n"
         "    c.sendall(part)\n'";
}

class DialTest : public NetworkTest {
 protected:
  void serve(const std::string& family, const std::string& address) {
    channel_ = std::make_unique<wire::Channel>(connect());
    waiting_.clear();
    channel_->queue(1, wire_exec("server", echo_server(family, address)));
    await(1, wire::MessageType::Output);
  }

  // Returns the next message of a conversation, which must have this type.
  std::string await(std::uint32_t conversation, wire::MessageType type) {
    std::deque<Message>& waiting = waiting_[conversation];
    while (waiting.empty()) {
      const auto frame = channel_->receive(Deadline::in(20s));
      if (!frame) {
        ADD_FAILURE() << frame.error().message;
        return {};
      }
      waiting_[frame->conversation].push_back({frame->type, std::string(frame->payload)});
    }
    const Message message = std::move(waiting.front());
    waiting.pop_front();
    EXPECT_EQ(message.type, type);
    return message.payload;
  }

  struct Message {
    wire::MessageType type;
    std::string payload;
  };
  std::unique_ptr<wire::Channel> channel_;
  std::map<std::uint32_t, std::deque<Message>> waiting_;  // the order of two conversations is open
};

TEST_F(DialTest, ServerOfEitherFamilyIsReached) {
  for (const auto& [family, address] :
       {std::pair("AF_INET", "127.0.0.1"), std::pair("AF_INET6", "::1")}) {
    serve(family, address);
    channel_->queue(2, wire::Dial{8080});
    const auto opened = wire::decode<wire::FlowOpened>(await(2, wire::MessageType::FlowOpened));
    ASSERT_TRUE(opened);
    ASSERT_EQ(opened->error_number, 0) << opened->reason;
    channel_->queue(2, wire::FlowData{0, "over"});
    EXPECT_EQ(wire::decode<wire::FlowData>(await(2, wire::MessageType::FlowData))->bytes, "over");
    channel_->queue(2, wire::FlowEnd{0});
    await(2, wire::MessageType::FlowEnd);
    await(2, wire::MessageType::Done);
    await(1, wire::MessageType::Ended);
  }
}

TEST_F(DialTest, PortWithoutAServerIsRefused) {
  channel_ = std::make_unique<wire::Channel>(connect());
  channel_->queue(2, wire::Dial{8081});
  const auto opened = wire::decode<wire::FlowOpened>(await(2, wire::MessageType::FlowOpened));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->error_number, ECONNREFUSED);
  EXPECT_EQ(opened->reason, "port 8081 of the sandbox: Connection refused");
}

TEST_F(DialTest, BrokenConnectionIsReportedAndEndsTheConversation) {
  channel_ = std::make_unique<wire::Channel>(connect());
  channel_->queue(1, wire_exec("server",
                               "python3 -c 'import socket, struct\n"
                               "s = socket.create_server((\"127.0.0.1\", 8080))\n"
                               "print(\"ready\", flush=True)\n"
                               "c = s.accept()[0]\n"
                               "c.recv(1)\n"
                               "c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,\n"
                               "             struct.pack(\"ii\", 1, 0))\n"
                               "c.close()'"));
  await(1, wire::MessageType::Output);
  channel_->queue(2, wire::Dial{8080});
  await(2, wire::MessageType::FlowOpened);
  channel_->queue(2, wire::FlowData{0, "x"});
  await(2, wire::MessageType::FlowReset);
  await(2, wire::MessageType::Done);
}

}  // namespace
}  // namespace nutshell::init
