#include "base/tcp_owner.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace nutshell {
namespace {

constexpr std::string_view kHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";
constexpr std::string_view kLine =
    "   1: 0100007F:A2C4 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 "
    "77777 1 0000000000000000 20 4 30 10 -1\n";

std::string with(std::string_view what, std::string_view by) {
  std::string line(kLine);
  line.replace(line.find(what), what.size(), by);
  return std::string(kHead) + line;
}

Result<std::uint32_t> owner(const std::string& table) {
  return owner_in_table(table, "0100007F:A2C4", "0100007F:1F90");
}

TEST(TcpOwner, IsTheUserOfTheEstablishedSocket) {
  const auto found = owner(std::string(kHead) + std::string(kLine));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, 1000U);
}

// The kernel prints user 0 for a socket whose process has closed it: it must not pass as root's.
TEST(TcpOwner, IsNobodyOnceTheSocketWasClosed) {
  EXPECT_FALSE(owner(with(" 77777 ", " 0 ")));
  for (const char* state : {" 04 ", " 05 ", " 06 ", " 08 ", " 0A "})
    EXPECT_FALSE(owner(with(" 01 ", state))) << state;
}

TEST(TcpOwner, IgnoresOtherConnectionsAndBrokenLines) {
  EXPECT_FALSE(owner(with("A2C4", "A2C5")));
  EXPECT_FALSE(owner(with("1F90", "1F91")));
  EXPECT_FALSE(owner(with("  1000 ", "  10x0 ")));
  EXPECT_FALSE(owner(""));
  EXPECT_FALSE(owner("0 0100007F:A2C4 0100007F:1F90 01"));
}

// A listener, a client's end and the accepted end, all of this process.
struct Connection {
  explicit Connection(int family = AF_INET)
      : client(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (::bind(listener.get(), plain, size) != 0 || ::listen(listener.get(), 1) != 0) return;
    if (::getsockname(listener.get(), plain, &size) != 0) return;
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = address.sin_port;
    ::inet_pton(AF_INET6, "::ffff:127.0.0.1", &six.sin6_addr);
    if (family == AF_INET6) {
      plain = reinterpret_cast<sockaddr*>(&six);
      size = sizeof six;
    }
    if (::connect(client.get(), plain, size) != 0) return;
    accepted = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  UniqueFd client;
  UniqueFd accepted;
};

TEST(TcpOwner, IsThisUserForItsOwnConnection) {
  const Connection connection;
  ASSERT_TRUE(connection.accepted);
  const auto found = owner_of_peer(connection.accepted.get());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, ::geteuid());
}

// gRPC's clients use such sockets for IPv4 too.
TEST(TcpOwner, IsThisUserForItsSocketOfBothFamilies) {
  Connection connection(AF_INET6);
  ASSERT_TRUE(connection.accepted);
  const auto found = owner_of_peer(connection.accepted.get());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, ::geteuid());
}

TEST(TcpOwner, IsNobodyWhenTheClientHasHungUp) {
  Connection connection;
  ASSERT_TRUE(connection.accepted);
  connection.client.reset();
  EXPECT_FALSE(owner_of_peer(connection.accepted.get()));
}

}  // namespace
}  // namespace nutshell
