#include "base/tcp_owner.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "base/file.h"

namespace nutshell {
namespace {

constexpr std::size_t kMostTableBytes = 64U << 20U;

// The kernel prints an address as the number that its bytes are in memory.
Result<std::string> end_of(const sockaddr_storage& address) {
  if (address.ss_family != AF_INET) {
    return failure(ErrorCode::Unsupported, "only connections over IPv4 tell their users");
  }
  const auto& four = reinterpret_cast<const sockaddr_in&>(address);
  return fmt::format("{:08X}:{:04X}", four.sin_addr.s_addr, ntohs(four.sin_port));
}

// The columns of a line up to the inode.
using Columns = std::array<std::string_view, 10>;
Columns columns_of(std::string_view line) {
  Columns columns;
  for (std::string_view& column : columns) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    column = line.substr(0, line.find(' '));
    line.remove_prefix(column.size());
  }
  return columns;
}

// An end as the table of IPv6 has it: "::ffff:127.0.0.1", in four numbers.
std::string mapped(const std::string& end) {
  static const std::string kPrefix = fmt::format("{:08X}{:08X}{:08X}", 0, 0, htonl(0xFFFF));
  return kPrefix + end;
}

// Whether nothing was heard from the peer that ends the connection.
bool is_open(int connection) {
  pollfd watched{connection, POLLRDHUP, 0};
  return ::poll(&watched, 1, 0) == 0;
}

}  // namespace

Result<std::uint32_t> owner_in_table(std::string_view table, std::string_view local,
                                     std::string_view remote) {
  constexpr std::string_view kEstablished = "01";
  while (!table.empty()) {
    const std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(line.size() + 1, table.size()));
    const Columns columns = columns_of(line);
    if (columns[1] != local || columns[2] != remote) continue;
    // A socket without a process has no inode; its user is printed as 0.
    if (columns[3] != kEstablished || columns[9] == "0" || columns[9].empty()) break;
    std::uint32_t user = 0;
    const std::string_view digits = columns[7];
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), user);
    if (error != std::errc() || end != digits.data() + digits.size()) break;
    return user;
  }
  return failure(ErrorCode::Unavailable, "no process of this machine has that connection");
}

Result<std::uint32_t> owner_of_peer(int connection) {
  sockaddr_storage own{};
  sockaddr_storage peer{};
  socklen_t own_size = sizeof own;
  socklen_t peer_size = sizeof peer;
  if (::getsockname(connection, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      ::getpeername(connection, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) {
    return syscall_failure("name the ends of the connection");
  }
  const std::string peer_end = TRY(end_of(peer));
  const std::string own_end = TRY(end_of(own));
  const std::string table = TRY(read_file("/proc/net/tcp", kMostTableBytes));
  auto user = owner_in_table(table, peer_end, own_end);
  if (!user) {  // a socket for IPv6 that has an IPv4 address is in the other table
    const std::string other = TRY(read_file("/proc/net/tcp6", kMostTableBytes));
    user = owner_in_table(other, mapped(peer_end), mapped(own_end));
  }
  if (!user) return user;
  // While our end is open, no other socket can have the peer's address and port: the line was of
  // this connection.
  if (!is_open(connection)) return failure(ErrorCode::Unavailable, "the client has hung up");
  return user;
}

}  // namespace nutshell
