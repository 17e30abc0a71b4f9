// Look-ups of names by commands.
#include <gmock/gmock.h>

#include "init/network/network_fixture.h"

namespace nutshell::init {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::SizeIs;

constexpr const char* kAsk =
    "def question(name, kind, number=7):\n"
    "    labels = b''.join(bytes([len(p)]) + p.encode() for p in name.split('.')) + b'\\0'\n"
    "    return struct.pack('>6H', number, 0x100, 1, 0, 0, 0) + labels + struct.pack('>2H', kind, "
    "1)\n"
    "def ask(name, kind):\n"
    "    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "    s.settimeout(20)\n"
    "    s.sendto(question(name, kind), ('127.0.0.1', 53))\n"
    "    answer = s.recv(1000)\n"
    "    number, flags, _, count, _, _ = struct.unpack('>6H', answer[:12])\n"
    "    return number, flags & 15, count, answer[-4:] if count else b''\n";

FakeRelay::Behaviour knowing() {
  FakeRelay::Behaviour behaviour;
  behaviour.resolve = [](const wire::Resolve& resolve) {
    wire::Resolved answer{resolve.query, wire::Resolution::Found, 60, {}, {}};
    if (resolve.name == "good.example") {
      if (resolve.type == wire::RecordType::Address4) {
        answer.addresses = {"\x0a\1\2\3", "\x0a\1\2\4"};
      }
    } else if (resolve.name == "secret.example") {
      answer.resolution = wire::Resolution::NotAllowed;
      answer.reason = "secret.example is not allowed";
    } else if (resolve.name == "late.example") {
      answer.resolution = wire::Resolution::Failed;
    } else {
      answer.resolution = wire::Resolution::NoSuchName;
    }
    return answer;
  };
  return behaviour;
}

TEST_F(NetworkTest, NamesAreAnsweredByTheHost) {
  start_relay(knowing());
  const Captured ran = python(std::string(kAsk) +
                              "print(ask('good.example', 1))\n"
                              "print(ask('good.example', 28))\n"
                              "print(ask('missing.example', 1))\n"
                              "print(ask('late.example', 1))\n"
                              "print(ask('good.example', 16))\n"
                              "print(ask('localhost', 1))\n");
  EXPECT_EQ(ran.output,
            "(7, 0, 2, b'\\n\\x01\\x02\\x04')\n"
            "(7, 0, 0, b'')\n"
            "(7, 3, 0, b'')\n"
            "(7, 2, 0, b'')\n"
            "(7, 0, 0, b'')\n"
            "(7, 0, 1, b'\\x7f\\x00\\x00\\x01')\n")
      << ran.error;
  EXPECT_THAT(relay_->resolved(),
              ElementsAre("good.example", "good.example", "missing.example", "late.example"));
  EXPECT_EQ(ran.result.refused_connection_count, 0U);
}

TEST_F(NetworkTest, RefusedNameIsCountedOnceForItsAttempts) {
  start_relay(knowing());
  const Captured ran =
      python(std::string(kAsk) + "for i in range(4): print(ask('secret.example', 1)[1])\n");
  EXPECT_EQ(ran.output, "3\n3\n3\n3\n") << ran.error;
  EXPECT_THAT(ran.result.refused_connections, ElementsAre("secret.example is not allowed"));
  EXPECT_EQ(ran.result.refused_connection_count, 1U);
}

TEST_F(NetworkTest, NamesAreAnsweredOverStreamsToo) {
  start_relay(knowing());
  const Captured ran = python(std::string(kAsk) +
                              "s = socket.create_connection(('127.0.0.1', 53))\n"
                              "for number in (1, 2):\n"
                              "    q = question('good.example', 1, number)\n"
                              "    packet = struct.pack('>H', len(q)) + q\n"
                              "    s.sendall(packet[:9])\n"
                              "    time.sleep(0.05)\n"
                              "    s.sendall(packet[9:])\n"
                              "    size = struct.unpack('>H', s.recv(2, socket.MSG_WAITALL))[0]\n"
                              "    answer = s.recv(size, socket.MSG_WAITALL)\n"
                              "    print(answer[1], answer[-4:])\n"
                              "s.sendall(b'\\xff\\xff')\n"
                              "print(s.recv(1))\n");
  EXPECT_EQ(ran.output, "1 b'\\n\\x01\\x02\\x04'\n2 b'\\n\\x01\\x02\\x04'\nb''\n") << ran.error;
}

TEST_F(NetworkTest, FloodOfQuestionsLeavesTimeForOthers) {
  start_relay(knowing());
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("flood",
                             "python3 -c 'import socket\n"
                             "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                             "print(\"on\", flush=True)\n"
                             "while True: s.sendto(b\"x\" * 40, (\"127.0.0.1\", 53))'"));
  const auto begun = channel.receive(Deadline::in(std::chrono::seconds(20)));
  ASSERT_TRUE(begun) << begun.error().message;
  wire::InitClient other = client();
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(other.ping(Deadline::in(std::chrono::seconds(5))));
}

}  // namespace
}  // namespace nutshell::init
