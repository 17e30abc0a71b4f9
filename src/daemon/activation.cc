#include "daemon/activation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

namespace nutshell::daemon {
namespace {

constexpr int kFirstPassed = 3;
constexpr int kMostPassed = 16;

// NOLINTBEGIN(concurrency-mt-unsafe): read while there is one thread
int number_from(const char* name) {
  const char* text = std::getenv(name);
  int number = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace

std::vector<UniqueFd> take_passed_sockets() {
  std::vector<UniqueFd> sockets;
  if (number_from("LISTEN_PID") != ::getpid()) return sockets;
  const int count = std::min(number_from("LISTEN_FDS"), kMostPassed);
  for (int fd = kFirstPassed; fd < kFirstPassed + count; ++fd) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    sockets.emplace_back(fd);
  }
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"})
    ::unsetenv(name);  // children must not see them
  return sockets;
}

void tell_starter(std::string_view news) {
  const char* place = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (place == nullptr || std::strlen(place) >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, place);  // NOLINT(clang-analyzer-security*): its length was checked
  const std::size_t length = std::strlen(place);
  if (*place == '@') address.sun_path[0] = '\0';  // an abstract name
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // A missing listener is not an error.
  (void)::sendto(socket.get(), news.data(), news.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
}
// NOLINTEND(concurrency-mt-unsafe)

}  // namespace nutshell::daemon
