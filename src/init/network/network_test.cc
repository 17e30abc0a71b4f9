// Connections of commands, from connect() to their last byte.
#include <gmock/gmock.h>

#include "init/network/network_fixture.h"

namespace nutshell::init {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

FakeRelay::Behaviour taking(FakeRelay::Descriptors descriptors) {
  FakeRelay::Behaviour behaviour;
  behaviour.descriptors = descriptors;
  return behaviour;
}

FakeRelay::Behaviour refusing(std::uint16_t error_number, const std::string& reason) {
  FakeRelay::Behaviour behaviour;
  behaviour.decide = [=](const wire::OpenFlow& open) {
    return wire::FlowOpened{open.flow, error_number, reason, 1};
  };
  return behaviour;
}

constexpr const char* kEcho =
    "s = socket.create_connection(('192.0.2.7', 80))\n"
    "s.sendall(b'hello')\n"
    "print(s.recv(100).decode())\n";

TEST_F(NetworkTest, ConnectionIsCarried) {
  start_relay();
  const Captured ran = python(kEcho);
  EXPECT_EQ(ran.output, "hello\n") << ran.error;
  EXPECT_THAT(relay_->asked(), ElementsAre("c0000207:80"));
  EXPECT_EQ(ran.result.refused_connection_count, 0U);
  EXPECT_EQ(relay_->handed_over(), 0);
}

TEST_F(NetworkTest, ConnectionIsHandedOver) {
  start_relay(taking(FakeRelay::Descriptors::Taken));
  const Captured ran = python(kEcho);
  EXPECT_EQ(ran.output, "hello\n") << ran.error;
  EXPECT_EQ(relay_->handed_over(), 1);
}

TEST_F(NetworkTest, ConnectionOfIpv6AndItsMappedFormAreTold) {
  start_relay();
  const Captured ran = python(
      "for address in ('2001:db8::5', '::ffff:192.0.2.9'):\n"
      "    s = socket.socket(socket.AF_INET6)\n"
      "    s.connect((address, 443))\n"
      "    s.sendall(b'six')\n"
      "    print(s.recv(100).decode())\n");
  EXPECT_EQ(ran.output, "six\nsix\n") << ran.error;
  EXPECT_THAT(relay_->asked(), ElementsAre("20010db8000000000000000000000005:443", "c0000209:443"));
}

TEST_F(NetworkTest, RefusedConnectionHasTheHostsErrorAndReason) {
  start_relay(refusing(ECONNREFUSED, "192.0.2.7:80 is not allowed"));
  const Captured ran = python(
      "for i in range(3):\n"
      "    print(call(socket.socket().connect, ('192.0.2.7', 80)))\n");
  EXPECT_EQ(ran.output, "ECONNREFUSED\nECONNREFUSED\nECONNREFUSED\n") << ran.error;
  EXPECT_THAT(ran.result.refused_connections, ElementsAre("192.0.2.7:80 is not allowed"));
  EXPECT_EQ(ran.result.refused_connection_count, 3U);
}

TEST_F(NetworkTest, RefusalsAreCountedForTheirCommandAlone) {
  start_relay(refusing(ECONNREFUSED, "no"));
  wire::Channel channel(connect());
  wire::Exec waits = wire_exec("waits", "read x");
  waits.request.standard_input = StandardInput::Streamed;
  channel.queue(1, waits);
  ASSERT_TRUE(channel.send_all(Deadline::in(std::chrono::seconds(5))));
  const Captured ran = python("print(call(socket.socket().connect, ('192.0.2.7', 80)))");
  EXPECT_EQ(ran.result.refused_connection_count, 1U);
  channel.queue(1, wire::InputEnd{});
  for (;;) {
    const auto frame = channel.receive(Deadline::in(std::chrono::seconds(20)));
    ASSERT_TRUE(frame) << frame.error().message;
    if (frame->type != wire::MessageType::Ended) continue;
    const auto ended = wire::decode<wire::Ended>(frame->payload);
    EXPECT_EQ(ended->result.refused_connection_count, 0U);
    break;
  }
}

TEST_F(NetworkTest, SocketKeepsItsOptionsAndCopies) {
  start_relay();
  const Captured ran = python(
      "s = socket.socket()\n"
      "s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('qq', 7, 0))\n"
      "s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
      "copy = s.dup()\n"
      "os.set_inheritable(s.fileno(), True)\n"
      "s.connect(('192.0.2.7', 80))\n"
      "print(struct.unpack('qq', s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16))[0],\n"
      "      s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0, s.getblocking(),\n"
      "      os.get_inheritable(s.fileno()))\n"
      "copy.sendall(b'by the copy')\n"
      "print(s.recv(100).decode())\n");
  EXPECT_EQ(ran.output, "7 True True True\nby the copy\n") << ran.error;
}

TEST_F(NetworkTest, NonBlockingSocketIsConnectedOrTold) {
  start_relay();
  const Captured ran = python(
      "s = socket.socket()\n"
      "s.setblocking(False)\n"
      "print(s.connect_ex(('192.0.2.7', 80)) in (0, errno.EINPROGRESS), s.getblocking())\n"
      "s.setblocking(True)\n"
      "s.sendall(b'later')\n"
      "print(s.recv(100).decode())\n"
      "print(call(s.connect, ('192.0.2.8', 80)))\n");
  EXPECT_EQ(ran.output, "True False\nlater\nEISCONN\n") << ran.error;
  EXPECT_THAT(relay_->asked(), SizeIs(1));
}

// A slow decision does not stop a program that has other work, and a refusal breaks what it got.
TEST_F(NetworkTest, NonBlockingSocketDoesNotWaitLong) {
  FakeRelay::Behaviour slow;
  slow.decide = [](const wire::OpenFlow& open) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    const bool is_allowed = open.port == 80;
    return wire::FlowOpened{open.flow, static_cast<std::uint16_t>(is_allowed ? 0 : ECONNREFUSED),
                            "too late", 1};
  };
  start_relay(std::move(slow));
  const Captured ran = python(
      "for port in (80, 81):\n"
      "    s = socket.socket()\n"
      "    s.setblocking(False)\n"
      "    start = time.monotonic()\n"
      "    print(s.connect_ex(('192.0.2.7', port)), time.monotonic() - start < 2)\n"
      "    s.setblocking(True)\n"
      "    print(call(s.sendall, b'early'), end=' ')\n"
      "    print(call(lambda: print(s.recv(100).decode(), end=' ')))\n");
  EXPECT_EQ(ran.output, "0 True\nok early ok\n0 True\nok ECONNRESET\n") << ran.error;
  EXPECT_THAT(ran.result.refused_connections, ElementsAre("too late"));
}

TEST_F(NetworkTest, ServerInsideComesFirst) {
  start_relay(refusing(ECONNREFUSED, "no"));
  const Captured ran = python(
      "server = socket.create_server(('127.0.0.1', 8080))\n"
      "for address in ('127.0.0.1', 'localhost', '0.0.0.0'):\n"
      "    client = socket.create_connection((address, 8080))\n"
      "    server.accept()[0].sendall(b'inside')\n"
      "    print(client.recv(100).decode())\n"
      "print(call(socket.socket().connect, ('127.0.0.1', 8081)))\n");
  EXPECT_EQ(ran.output, "inside\ninside\ninside\nECONNREFUSED\n") << ran.error;
  EXPECT_THAT(relay_->asked(), ElementsAre("7f000001:8081"));
}

TEST_F(NetworkTest, UnixSocketsAndDatagramsAreTheKernels) {
  start_relay();
  const Captured ran = python(
      "server = socket.socket(socket.AF_UNIX)\n"
      "server.bind('server')\n"
      "server.listen()\n"
      "client = socket.socket(socket.AF_UNIX)\n"
      "client.connect('server')\n"
      "print(call(socket.socket(socket.AF_UNIX).connect, 'missing'))\n"
      "print(call(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect, ('192.0.2.7', 53)))\n"
      "udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
      "print(call(udp.sendto, b'x', ('192.0.2.7', 53)))\n"
      "udp.connect(('127.0.0.1', 9))\n");
  EXPECT_EQ(ran.output, "ENOENT\nENETUNREACH\nENETUNREACH\n") << ran.error;
  EXPECT_THAT(relay_->asked(), IsEmpty());
}

TEST_F(NetworkTest, ConnectionOfAThreadIsCarried) {
  start_relay();
  const Captured ran = python(
      "def work():\n"
      "    s = socket.create_connection(('192.0.2.7', 80))\n"
      "    s.sendall(b'thread')\n"
      "    print(s.recv(100).decode())\n"
      "for i in range(2):\n"
      "    thread = threading.Thread(target=work)\n"
      "    thread.start()\n"
      "    thread.join()\n");
  EXPECT_EQ(ran.output, "thread\nthread\n") << ran.error;
}

TEST_F(NetworkTest, BulkIsCarriedWholeInBothDirections) {
  for (const auto descriptors : {FakeRelay::Descriptors::Refused, FakeRelay::Descriptors::Taken}) {
    start_relay(taking(descriptors));
    const Captured ran = python(
        "import hashlib\n"
        "s = socket.create_connection(('192.0.2.7', 80))\n"
        "data = os.urandom(1 << 20) * 16\n"
        "thread = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))\n"
        "thread.start()\n"
        "got = hashlib.sha256()\n"
        "size = 0\n"
        "while size < len(data):\n"
        "    part = s.recv(1 << 16)\n"
        "    if not part: break\n"
        "    size += len(part)\n"
        "    got.update(part)\n"
        "print(got.digest() == hashlib.sha256(data).digest(), size)\n"
        "print(s.recv(1))\n");
    EXPECT_EQ(ran.output, "True 16777216\nb''\n") << relay_->handed_over() << " were handed over\n"
                                                  << ran.error;
    relay_.reset();
  }
}

TEST_F(NetworkTest, ManyConnectionsAtOnceAreCarried) {
  start_relay();
  const Captured ran = python(
      "sockets = [socket.create_connection(('192.0.2.7', 80)) for i in range(200)]\n"
      "for i, s in enumerate(sockets): s.sendall(str(i).encode())\n"
      "print(all(s.recv(100) == str(i).encode() for i, s in enumerate(sockets)))\n");
  EXPECT_EQ(ran.output, "True\n") << ran.error;
}

TEST_F(NetworkTest, ConnectionsWaitForTheRelayAndAreRefusedWithoutIt) {
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("early",
                             "python3 -c 'import socket\n"
                             "s = socket.create_connection((\"192.0.2.7\", 80))\n"
                             "s.sendall(b\"waited\")\n"
                             "print(s.recv(100).decode())'"));
  ASSERT_TRUE(channel.send_all(Deadline::in(std::chrono::seconds(5))));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  start_relay();
  std::string output;
  for (bool is_over = false; !is_over;) {
    const auto frame = channel.receive(Deadline::in(std::chrono::seconds(20)));
    ASSERT_TRUE(frame) << frame.error().message;
    is_over = frame->type == wire::MessageType::Ended;
    if (frame->type == wire::MessageType::Output)
      output += wire::decode<wire::Output>(frame->payload)->bytes;
  }
  EXPECT_EQ(output, "waited\n");
  relay_.reset();
  const Captured ran = python("print(call(socket.socket().connect, ('192.0.2.7', 80)))");
  EXPECT_EQ(ran.output, "ENETUNREACH\n") << ran.error;
  EXPECT_THAT(ran.result.refused_connections, ElementsAre(HasSubstr("relay is not running")));
}

TEST_F(NetworkTest, ConnectionsBreakWithTheirRelayAndANewOneServes) {
  start_relay();
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("long",
                             "python3 -c 'import socket\n"
                             "s = socket.create_connection((\"192.0.2.7\", 80))\n"
                             "print(\"open\", flush=True)\n"
                             "try: print(s.recv(1))\n"
                             "except OSError as error: print(error.errno)\n"
                             "s = socket.create_connection((\"192.0.2.7\", 80))\n"
                             "s.sendall(b\"again\")\n"
                             "print(s.recv(100).decode())'"));
  std::string output;
  for (bool is_over = false; !is_over;) {
    const auto frame = channel.receive(Deadline::in(std::chrono::seconds(20)));
    ASSERT_TRUE(frame) << frame.error().message;
    is_over = frame->type == wire::MessageType::Ended;
    if (frame->type == wire::MessageType::Output)
      output += wire::decode<wire::Output>(frame->payload)->bytes;
    if (output == "open\n") {
      relay_.reset();
      start_relay();
      output += "-\n";
    }
  }
  EXPECT_EQ(output, "open\n-\n" + std::to_string(ECONNRESET) + "\nagain\n");
}

TEST_F(NetworkTest, CommandsHaveTheVariablesOfTheRelay) {
  FakeRelay::Behaviour behaviour;
  behaviour.environment = {"FROM=relay", "TOKEN=placeholder"};
  start_relay(std::move(behaviour));
  EXPECT_EQ(run(shell("echo $FROM $TOKEN")).output, "relay placeholder\n");
}

TEST_F(NetworkTest, OtherWaysToConnectAreClosed) {
  start_relay();
  const Captured ran = python(
      "MSG_FASTOPEN, FASTOPEN_CONNECT = 0x20000000, 30\n"
      "s = socket.socket()\n"
      "print(call(s.sendto, b'x', MSG_FASTOPEN, ('192.0.2.7', 80)))\n"
      "print(call(s.sendmsg, [b'x'], [], MSG_FASTOPEN, ('192.0.2.7', 80)))\n"
      "print(call(s.setsockopt, socket.IPPROTO_TCP, FASTOPEN_CONNECT, 1))\n"
      "import ctypes\n"
      "libc = ctypes.CDLL(None, use_errno=True)\n"
      "pidfd = libc.syscall(434, os.getpid(), 0)\n"
      "libc.syscall(438, pidfd, 0, 0)\n"
      "print(errno.errorcode[ctypes.get_errno()])\n");
  EXPECT_EQ(ran.output, "ENOTSUP\nENOTSUP\nENOPROTOOPT\nEPERM\n") << ran.error;
  EXPECT_THAT(relay_->asked(), IsEmpty());
}

}  // namespace
}  // namespace nutshell::init
