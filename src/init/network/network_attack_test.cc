// Commands that try to deceive init, to exhaust it, or that die at a bad moment.
#include <gmock/gmock.h>
#include <linux/landlock.h>
#include <sys/syscall.h>

#include "init/network/network_fixture.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

FakeRelay::Behaviour allowing_port_80() {
  FakeRelay::Behaviour behaviour;
  behaviour.decide = [](const wire::OpenFlow& open) {
    if (open.port == 80) return wire::FlowOpened{open.flow, 0, {}, 0};
    return wire::FlowOpened{open.flow, ECONNREFUSED, "only port 80 is allowed", 1};
  };
  return behaviour;
}

// Another thread changes the address while the kernel holds the call: the host decides about the
// address to which the command is connected, and the kernel's own look leads nowhere.
TEST_F(NetworkTest, AddressThatChangesAfterTheLookReachesNothingElse) {
  start_relay(allowing_port_80());
  const Captured ran = python(
      "import ctypes\n"
      "libc = ctypes.CDLL(None, use_errno=True)\n"
      "good = struct.pack('=H', socket.AF_INET) + struct.pack('>H', 80) + bytes([192, 0, 2, 7]) + "
      "bytes(8)\n"
      "bad = struct.pack('=H', socket.AF_INET) + struct.pack('>H', 81) + bytes([192, 0, 2, 7]) + "
      "bytes(8)\n"
      "unix = struct.pack('=H', socket.AF_UNIX) + good[2:]\n"
      "address = ctypes.create_string_buffer(good, 16)\n"
      "done = False\n"
      "def flip():\n"
      "    while not done:\n"
      "        for form in (bad, unix, good): ctypes.memmove(address, form, 16)\n"
      "thread = threading.Thread(target=flip)\n"
      "thread.start()\n"
      "counts = {}\n"
      "for i in range(300):\n"
      "    s = socket.socket()\n"
      "    result = libc.connect(s.fileno(), address, 16)\n"
      "    name = 'ok' if result == 0 else errno.errorcode[ctypes.get_errno()]\n"
      "    counts[name] = counts.get(name, 0) + 1\n"
      "    s.close()\n"
      "done = True\n"
      "thread.join()\n"
      "print(counts.pop('ok', 0), counts.pop('ECONNREFUSED', 0))\n"
      "print(sorted(set(counts) - {'ENETUNREACH', 'EAFNOSUPPORT', 'EINVAL', 'ENOENT'}))\n");
  std::size_t good = 0;
  std::size_t bad = 0;
  for (const std::string& asked : relay_->asked())
    ++(asked.ends_with(":80") ? good : bad);
  EXPECT_EQ(ran.output, std::to_string(good) + " " + std::to_string(bad) + "\n[]\n") << ran.error;
  EXPECT_EQ(ran.result.refused_connection_count, bad);
}

// A connected socket in other hands is asked for again.
TEST_F(NetworkTest, SocketThatIsPassedOnAndConnectedAgainIsAskedForAgain) {
  start_relay(allowing_port_80());
  const Captured ran = python(
      "ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)\n"
      "if os.fork() == 0:\n"
      "    _, fds, _, _ = socket.recv_fds(theirs, 1, 1)\n"
      "    s = socket.socket(fileno=fds[0])\n"
      "    import ctypes\n"
      "    libc = ctypes.CDLL(None, use_errno=True)\n"
      "    print(libc.connect(s.fileno(), bytes(16), 16))\n"  // AF_UNSPEC: ends the connection
      "    print(call(s.connect, ('192.0.2.7', 81)), flush=True)\n"
      "    os._exit(0)\n"
      "s = socket.create_connection(('192.0.2.7', 80))\n"
      "socket.send_fds(ours, [b'x'], [s.fileno()])\n"
      "os.wait()\n");
  EXPECT_EQ(ran.output, "0\nECONNREFUSED\n") << ran.error;
  EXPECT_THAT(relay_->asked(), ElementsAre("c0000207:80", "c0000207:81"));
}

TEST_F(NetworkTest, ListenersOfInitServeNobodyElse) {
  start_relay();
  const Captured ran = python(
      "ports = [int(line.split()[1].split(':')[1], 16) for line in open('/proc/net/tcp')\n"
      "         if ' 0A ' in line]\n"
      "for port in ports:\n"
      "    if port == 53: continue\n"
      "    s = socket.create_connection(('127.0.0.1', port))\n"
      "    s.settimeout(10)\n"
      "    print(s.recv(1))\n");
  EXPECT_EQ(ran.output, "b''\n") << ran.error;
  EXPECT_THAT(relay_->asked(), IsEmpty());
}

TEST_F(NetworkTest, ProcessThatCannotBeLookedIntoIsNotConnected) {
  start_relay();
  const Captured ran = python(
      "import ctypes\n"
      "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"  // PR_SET_DUMPABLE
      "print(call(socket.socket().connect, ('192.0.2.7', 80)))\n");
  // In the test init has all rights in its user namespace, and may look even there.
  EXPECT_THAT(ran.output, testing::AnyOf("ENETUNREACH\n", "ok\n")) << ran.error;
}

TEST_F(NetworkTest, SignalsDoNotRepeatAConnect) {
  FakeRelay::Behaviour slow;
  slow.decide = [](const wire::OpenFlow& open) {
    std::this_thread::sleep_for(300ms);
    return wire::FlowOpened{open.flow, 0, {}, 0};
  };
  start_relay(std::move(slow));
  const Captured ran = python(
      "import signal\n"
      "signal.signal(signal.SIGALRM, lambda number, frame: None)\n"
      "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\n"
      "s = socket.create_connection(('192.0.2.7', 80))\n"
      "s.sendall(b'once')\n"
      "print(s.recv(10))\n");
  EXPECT_EQ(ran.output, "b'once'\n") << ran.error;
  EXPECT_THAT(relay_->asked(), testing::SizeIs(1));
}

// A relay that answers nothing leaves commands waiting, and nobody else.
TEST_F(NetworkTest, ManyConnectionsWithoutADecisionHoldUpNothing) {
  FakeRelay::Behaviour silent;
  silent.decide = [](const wire::OpenFlow& /*open*/) {
    return wire::FlowOpened{~0U, 0, {}, 0};  // of no flow
  };
  start_relay(std::move(silent));
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("many",
                             "exec python3 -c 'import socket, time, threading\n"
                             "def connect(): socket.create_connection((\"192.0.2.7\", 80))\n"
                             "for i in range(40): threading.Thread(target=connect).start()\n"
                             "kept = []\n"
                             "print(\"on\", flush=True)\n"
                             "time.sleep(1000)'"));
  const auto begun = channel.receive(Deadline::in(20s));
  ASSERT_TRUE(begun) << begun.error().message;
  const Deadline patience = Deadline::in(20s);
  while (relay_->asked().size() < 40 && !patience.has_passed())
    std::this_thread::sleep_for(5ms);
  EXPECT_THAT(relay_->asked(), testing::SizeIs(40));
  EXPECT_EQ(run(shell("echo other")).output, "other\n");
  channel.queue(1, wire::Cancel{});
  ASSERT_TRUE(channel.send_all(Deadline::in(5s)));
  while (relay_->resets().size() < 40 && !patience.has_passed())
    std::this_thread::sleep_for(5ms);
  EXPECT_THAT(relay_->resets(), testing::SizeIs(40));
  EXPECT_THAT(relay_->resets(), Each(HasSubstr("is gone")));
}

TEST_F(NetworkTest, FloodOfConnectsLeavesTimeForOthers) {
  start_relay(allowing_port_80());
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("flood",
                             "exec python3 -c 'import socket, threading\n"
                             "def connect():\n"
                             "    while True:\n"
                             "        s = socket.socket()\n"
                             "        s.connect_ex((\"192.0.2.7\", 81))\n"
                             "        s.close()\n"
                             "for i in range(8): threading.Thread(target=connect).start()\n"
                             "print(\"on\", flush=True)'"));
  const auto begun = channel.receive(Deadline::in(20s));
  ASSERT_TRUE(begun) << begun.error().message;
  wire::InitClient other = client();
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(other.ping(Deadline::in(5s)));
}

// One connection that is flooded, and never read from, leaves the others alone.
TEST_F(NetworkTest, FloodThroughOneConnectionLeavesOthersAlive) {
  start_relay();
  wire::Channel channel(connect());
  channel.queue(1, wire_exec("flood",
                             "exec python3 -c 'import socket\n"
                             "s = socket.create_connection((\"192.0.2.7\", 80))\n"
                             "print(\"on\", flush=True)\n"
                             "while True: s.sendall(bytes(1 << 16))'"));
  const auto begun = channel.receive(Deadline::in(20s));
  ASSERT_TRUE(begun) << begun.error().message;
  const Captured ran = python(
      "for i in range(20):\n"
      "    s = socket.create_connection(('192.0.2.7', 80))\n"
      "    s.sendall(b'alive')\n"
      "    if s.recv(10) != b'alive': print('lost')\n"
      "    s.close()\n");
  EXPECT_EQ(ran.output, "") << ran.error;
}

TEST_F(NetworkTest, ConnectionsEndInEveryOrder) {
  for (const auto descriptors : {FakeRelay::Descriptors::Refused, FakeRelay::Descriptors::Taken}) {
    FakeRelay::Behaviour behaviour;
    behaviour.descriptors = descriptors;
    start_relay(std::move(behaviour));
    const Captured ran = python(
        "def open():\n"
        "    s = socket.create_connection(('192.0.2.7', 80))\n"
        "    s.settimeout(20)\n"
        "    s.sendall(b'x')\n"
        "    s.recv(1)\n"
        "    return s\n"
        "for i in range(10):\n"
        "    s = open(); s.close()\n"
        "    s = open(); s.shutdown(socket.SHUT_WR); print(s.recv(1), end=''); s.close()\n"
        "    s = open(); s.shutdown(socket.SHUT_RD); s.close()\n"
        "    s = open()\n"
        "    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); "
        "s.close()\n"
        "    s = open(); s.sendall(bytes(100000)); s.close()\n"
        "    s = open(); copy = s.dup(); s.close(); copy.sendall(b'y'); print(copy.recv(1), "
        "end='')\n"
        "s = open(); s.sendall(b'last'); print(s.recv(4, socket.MSG_WAITALL))\n");
    std::string expected;
    for (int i = 0; i < 10; ++i)
      expected += "b''b'y'";
    EXPECT_EQ(ran.output, expected + "b'last'\n") << ran.error;
    relay_.reset();
  }
}

TEST_F(NetworkTest, BrokenProtocolOfTheRelayEndsItAlone) {
  wire::InitClient neighbour = client();
  for (const auto& bad : std::vector<std::function<void(std::string&)>>{
           [](std::string& bytes) { wire::append_frame(bytes, 1, wire::Ping{}); },
           [](std::string& bytes) {
             wire::append_header(bytes, 1, wire::MessageType::Resolved, 0);
           },
           [](std::string& bytes) {
             wire::append_header(bytes, 1, wire::MessageType::FlowData, 0);
           },
       }) {
    std::string bytes;
    wire::append_frame(bytes, 0, wire::Hello{});
    wire::append_frame(bytes, 1, wire::Egress{});
    bad(bytes);
    const UniqueFd stream = connect();
    ASSERT_TRUE(write_all(stream.get(), bytes));
    std::array<char, 4096> answer{};
    const Deadline patience = Deadline::in(20s);
    while (!patience.has_passed() && ::read(stream.get(), answer.data(), answer.size()) > 0) {
    }
    EXPECT_FALSE(patience.has_passed());
    EXPECT_TRUE(neighbour.ping());
  }
  start_relay();
  EXPECT_EQ(python("s = socket.create_connection(('192.0.2.7', 80))\n"
                   "s.sendall(b'after')\n"
                   "print(s.recv(10))")
                .output,
            "b'after'\n");
}

TEST_F(NetworkTest, NewestRelayTakesTheSandbox) {
  start_relay();
  const auto first = std::move(relay_);
  start_relay();
  EXPECT_EQ(python("s = socket.create_connection(('192.0.2.7', 80))\n"
                   "s.sendall(b'new')\n"
                   "print(s.recv(10))")
                .output,
            "b'new'\n");
  EXPECT_THAT(first->asked(), IsEmpty());
}

// Init restricts itself by rules that may change; commands of earlier rules are not its own any
// more, and still connect.
class RestrictedNetworkTest : public NetworkTest {
 protected:
  static UniqueFd make_rules() {
    landlock_ruleset_attr attributes{};
    attributes.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK;
    return UniqueFd(static_cast<int>(
        ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0U)));
  }
  void SetUp() override {
    if (!make_rules()) GTEST_SKIP() << "this kernel has no Landlock";
    NetworkTest::SetUp();
  }
  void configure(InitSetup& setup) override {
    NetworkTest::configure(setup);
    setup.path_rules = make_rules();
    (void)::syscall(SYS_prctl, 38, 1, 0, 0, 0);  // PR_SET_NO_NEW_PRIVS
  }
};

TEST_F(RestrictedNetworkTest, CommandThatBeganUnderEarlierRulesConnects) {
  start_relay();
  wire::Channel channel(connect());
  wire::Exec exec = wire_exec("early",
                              "exec python3 -c 'import socket\n"
                              "print(\"on\", flush=True)\n"
                              "input()\n"
                              "s = socket.create_connection((\"192.0.2.7\", 80))\n"
                              "s.sendall(b\"through\")\n"
                              "print(s.recv(100))'");
  exec.request.standard_input = StandardInput::Streamed;
  channel.queue(1, exec);
  const auto begun = channel.receive(Deadline::in(20s));
  ASSERT_TRUE(begun) << begun.error().message;
  const UniqueFd rules = make_rules();
  ASSERT_TRUE(send_packet(control_.get(), std::string_view(&kNewPathRules, 1), {rules.get()}));
  ASSERT_TRUE(client().ping());
  channel.queue(1, wire::Input{"\n"});
  std::string output;
  for (bool is_over = false; !is_over;) {
    const auto frame = channel.receive(Deadline::in(20s));
    ASSERT_TRUE(frame) << frame.error().message;
    is_over = frame->type == wire::MessageType::Ended;
    if (frame->type == wire::MessageType::Output)
      output += wire::decode<wire::Output>(frame->payload)->bytes;
  }
  EXPECT_EQ(output, "b'through'\n");
}

}  // namespace
}  // namespace nutshell::init
