#include "backends/native/network_namespace.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "base/defer.h"
#include "base/file.h"
#include "base/socket.h"

namespace nutshell::native {
namespace {

// "TCP: inuse 0 orphan 0 tw 0 …": the number behind `key` in the line that begins with `line`.
long number_in(const std::string& text, std::string_view line, std::string_view key) {
  const std::size_t start = text.find(line);
  if (start == std::string::npos) return 0;
  const std::size_t end = std::min(text.find('\n', start), text.size());
  const std::size_t at = text.find(key, start);
  if (at >= end) return 0;
  return std::strtol(text.c_str() + at + key.size(), nullptr, 10);
}

// A process that cannot get back into its own network namespace must not go on.
void enter_or_die(int fd) {
  if (::setns(fd, CLONE_NEWNET) != 0) std::abort();
}

}  // namespace

Result<> bring_loopback_up() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return syscall_failure("socket");
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return syscall_failure("bring up", "lo");
  return {};
}

Result<UniqueFd> open_own_network_namespace() {
  return open_file("/proc/self/ns/net", O_RDONLY);
}

namespace {

Result<> make_and_send(int target) {
  if (::unshare(CLONE_NEWNET) != 0) return syscall_failure("unshare");
  TRY(bring_loopback_up());
  const UniqueFd made = TRY(open_own_network_namespace());
  return send_packet(target, "made", {made.get()});
}

}  // namespace

Result<> send_new_network_namespace(int target) {
  // It shares our memory, so nothing is copied, and we stand still until it is gone.
  const pid_t child = ::vfork();
  if (child < 0) return syscall_failure("vfork");
  if (child == 0) {
    const auto sent = make_and_send(target);
    if (!sent) (void)send_packet(target, sent.error().message);  // the sandbox then says so itself
    ::_exit(0);
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {};
}

Result<NetworkNamespace> NetworkNamespace::create(const UniqueFd& home) {
  if (::unshare(CLONE_NEWNET) != 0) return syscall_failure("unshare", "network");
  const Defer back([&] { enter_or_die(home.get()); });
  TRY(bring_loopback_up());
  return NetworkNamespace(TRY(open_own_network_namespace()));
}

Result<bool> NetworkNamespace::is_clean(const UniqueFd& home) const {
  enter_or_die(namespace_.get());
  const Defer back([&] { enter_or_die(home.get()); });
  const std::string text = TRY(read_file("/proc/thread-self/net/sockstat"));
  return number_in(text, "sockets:", "used ") == 0 && number_in(text, "TCP:", "tw ") == 0 &&
         number_in(text, "FRAG:", "inuse ") == 0;
}

}  // namespace nutshell::native
