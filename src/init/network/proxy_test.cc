// The way for kernels and engines that do not let init see calls of commands: a proxy on loopback.
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cstddef>

#include "base/seccomp_filter.h"
#include "init/network/network_fixture.h"

namespace nutshell::init {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ProxyTest : public NetworkTest {
 protected:
  // Refuses pidfd_getfd, as the filters of engines do.
  void configure(InitSetup& setup) override {
    NetworkTest::configure(setup);
    constexpr sock_filter kFilter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    if (!install_seccomp_filter(kFilter)) ::_exit(kNoNetwork);
  }

  Captured ask(const std::string& script) {
    return python(
        "place = os.environ['HTTP_PROXY'].split('//')[1].split(':')\n"
        "def proxy():\n"
        "    s = socket.create_connection((place[0], int(place[1])))\n"
        "    s.settimeout(20)\n"
        "    return s\n"
        "def read_all(s):\n"
        "    data = b''\n"
        "    while True:\n"
        "        part = s.recv(65536)\n"
        "        if not part: return data\n"
        "        data += part\n" +
        script);
  }
};

TEST_F(ProxyTest, CommandsAreToldOfIt) {
  start_relay();
  EXPECT_THAT(run(shell("env | grep -i proxy | sort")).output,
              testing::MatchesRegex("ALL_PROXY=socks5h://127.0.0.1:[0-9]+\n"
                                    "HTTPS_PROXY=http://127.0.0.1:[0-9]+\n"
                                    "HTTP_PROXY=http://127.0.0.1:[0-9]+\n"
                                    "NO_PROXY=localhost,127.0.0.1,::1\n"
                                    "all_proxy=socks5h://127.0.0.1:[0-9]+\n"
                                    "http_proxy=http://127.0.0.1:[0-9]+\n"
                                    "https_proxy=http://127.0.0.1:[0-9]+\n"
                                    "no_proxy=localhost,127.0.0.1,::1\n"));
}

TEST_F(ProxyTest, ConnectIsCarried) {
  start_relay();
  const Captured ran =
      ask("s = proxy()\n"
          "s.sendall(b'CONNECT Example.org:443 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\nearly')\n"
          "print(s.recv(39))\n"
          "print(s.recv(5, socket.MSG_WAITALL))\n"
          "s.sendall(b'late')\n"
          "s.shutdown(socket.SHUT_WR)\n"
          "print(read_all(s))\n");
  EXPECT_EQ(ran.output, "b'HTTP/1.1 200 Connection established\\r\\n\\r\\n'\nb'early'\nb'late'\n")
      << ran.error;
  EXPECT_THAT(relay_->asked(), ElementsAre("Example.org:443"));
}

TEST_F(ProxyTest, PlainRequestGoesOutInOriginFormAndAlone) {
  start_relay();
  const Captured ran =
      ask("s = proxy()\n"
          "s.sendall(b'POST http://example.org/a?b HTTP/1.1\\r\\nHost: example.org\\r\\n'\n"
          "          b'Proxy-Connection: keep-alive\\r\\nConnection: keep-alive\\r\\n'\n"
          "          b'Content-Length: 4\\r\\n\\r\\nbody')\n"
          "s.shutdown(socket.SHUT_WR)\n"
          "print(read_all(s).decode())\n");
  EXPECT_EQ(ran.output,
            "POST /a?b HTTP/1.1\r\nHost: example.org\r\nContent-Length: 4\r\n"
            "Connection: close\r\n\r\nbody\n")
      << ran.error;
  EXPECT_THAT(relay_->asked(), ElementsAre("example.org:80"));
}

TEST_F(ProxyTest, SocksIsCarriedForNamesAndAddresses) {
  start_relay();
  const Captured ran =
      ask("targets = (b'\\3\\x0bexample.org', b'\\1\\xc0\\0\\2\\7',\n"
          "           b'\\4' + socket.inet_pton(socket.AF_INET6, '2001:db8::5'))\n"
          "for target in targets:\n"
          "    s = proxy()\n"
          "    s.sendall(b'\\5\\2\\0\\2')\n"
          "    print(s.recv(2, socket.MSG_WAITALL), end=' ')\n"
          "    s.sendall(b'\\5\\1\\0' + target + b'\\0\\x50')\n"
          "    print(s.recv(10, socket.MSG_WAITALL)[1], end=' ')\n"
          "    s.sendall(b'bytes')\n"
          "    print(s.recv(5, socket.MSG_WAITALL))\n");
  EXPECT_EQ(ran.output,
            "b'\\x05\\x00' 0 b'bytes'\nb'\\x05\\x00' 0 b'bytes'\nb'\\x05\\x00' 0 b'bytes'\n")
      << ran.error;
  EXPECT_THAT(relay_->asked(),
              ElementsAre("example.org:80", "c0000207:80", "20010db8000000000000000000000005:80"));
}

TEST_F(ProxyTest, RefusalIsToldInTheClientsLanguage) {
  FakeRelay::Behaviour behaviour;
  behaviour.decide = [](const wire::OpenFlow& open) {
    return wire::FlowOpened{open.flow, ECONNREFUSED, "evil.org is not allowed", 1};
  };
  start_relay(std::move(behaviour));
  const Captured ran =
      ask("s = proxy()\n"
          "s.sendall(b'CONNECT evil.org:443 HTTP/1.1\\r\\n\\r\\n')\n"
          "print(read_all(s).decode())\n"
          "s = proxy()\n"
          "s.sendall(b'\\5\\1\\0\\5\\1\\0\\3\\x08evil.org\\0\\x50')\n"
          "print(read_all(s))\n");
  EXPECT_THAT(ran.output, StartsWith("HTTP/1.1 403 Forbidden\r\n"));
  EXPECT_THAT(ran.output, HasSubstr("evil.org is not allowed"));
  EXPECT_THAT(ran.output, HasSubstr("b'\\x05\\x00\\x05\\x02\\x00\\x01"));
  EXPECT_THAT(ran.result.refused_connections, ElementsAre("evil.org is not allowed"));
  EXPECT_EQ(ran.result.refused_connection_count, 2U);
}

// Each of these means different things to different readers, or asks for more than a connection.
TEST_F(ProxyTest, TrickyRequestsAreRefusedBeforeTheHostIsAsked) {
  start_relay();
  const Captured ran =
      ask("for request in (b'GET http://allowed.org@evil.org/ HTTP/1.1\\r\\n\\r\\n',\n"
          "                b'GET http://allowed.org:80:81/ HTTP/1.1\\r\\n\\r\\n',\n"
          "                b'GET https://allowed.org/ HTTP/1.1\\r\\n\\r\\n',\n"
          "                b'GET /path HTTP/1.1\\r\\nHost: allowed.org\\r\\n\\r\\n',\n"
          "                b'GET http://allowed.org/ HTTP/1.1\\r\\nA: b\\r\\n c: d\\r\\n\\r\\n',\n"
          "                b'GET http://allowed.org/ HTTP/1.1\\nA: b\\r\\n\\r\\n',\n"
          "                b'GET http://allowed.org/ HTTP/1.1\\r\\nA : b\\r\\n\\r\\n',\n"
          "                b'GET http://allowed.org/ HTTP/1.1 x\\r\\n\\r\\n',\n"
          "                b'CONNECT allowed.org HTTP/1.1\\r\\n\\r\\n',\n"
          "                b'CONNECT evil.org\\0.allowed.org:443 HTTP/1.1\\r\\n\\r\\n',\n"
          "                b'CONNECT user@allowed.org:443 HTTP/1.1\\r\\n\\r\\n',\n"
          "                b'CONNECT [::1:443 HTTP/1.1\\r\\n\\r\\n',\n"
          "                b'CONNECT allowed.org:443:443 HTTP/1.1\\r\\n\\r\\n',\n"
          "                b'\\5\\1\\0\\5\\1\\0\\3\\x08evil\\0org\\0\\x50',\n"
          "                b'\\5\\1\\0\\5\\2\\0\\1\\1\\2\\3\\4\\0\\x50',\n"
          "                b'\\5\\1\\0\\5\\3\\0\\1\\1\\2\\3\\4\\0\\x50',\n"
          "                b'\\5\\1\\2', b'\\4\\1\\0\\x50\\1\\2\\3\\4\\0', b'\\x16\\3\\1\\0'):\n"
          "    s = proxy()\n"
          "    s.sendall(request)\n"
          "    s.shutdown(socket.SHUT_WR)\n"
          "    answer = read_all(s)\n"
          "    if not (answer.startswith(b'HTTP/1.1 400') or answer[:1] == b'\\5'): print(request, "
          "answer)\n");
  EXPECT_EQ(ran.output, "") << ran.error;
  EXPECT_THAT(relay_->asked(), IsEmpty());
}

TEST_F(ProxyTest, ServerWithoutAProxyIsNotReached) {
  start_relay();
  const Captured ran = ask("print(call(socket.socket().connect, ('192.0.2.7', 80)))\n");
  EXPECT_EQ(ran.output, "ENETUNREACH\n") << ran.error;
}

}  // namespace
}  // namespace nutshell::init
