#include "backends/docker/stream_bridges.h"

#include <sys/socket.h>

#include <csignal>
#include <system_error>

#include "base/socket.h"

namespace nutshell::docker {
namespace {

// Signals are for the program's own thread.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

StreamBridges::~StreamBridges() {
  for (Bridge& bridge : bridges_) {
    ::shutdown(bridge.stream.get(), SHUT_RDWR);
    ::shutdown(bridge.transport->descriptor(), SHUT_RDWR);
  }
  for (Bridge& bridge : bridges_)
    bridge.thread.join();
}

void StreamBridges::drop_finished() {
  bridges_.remove_if([](Bridge& bridge) {
    if (!bridge.is_over) return false;
    bridge.thread.join();
    return true;
  });
}

Result<UniqueFd> StreamBridges::add(http::Client::Upgraded upgraded) {
  drop_finished();
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  Bridge& bridge = bridges_.emplace_back();
  bridge.stream = std::move(ours);
  bridge.transport =
      std::make_unique<DemuxTransport>(std::move(upgraded.transport), std::move(upgraded.early));
  const SignalsHeld held;
  try {
    bridge.thread = std::thread([&bridge] {
      // An error is the end of the stream: whoever reads it sees that, and asks why.
      (void)http::relay(*bridge.transport, bridge.stream.get(), {[] { return false; }, nullptr});
      ::shutdown(bridge.stream.get(), SHUT_RDWR);
      ::shutdown(bridge.transport->descriptor(), SHUT_RDWR);
      bridge.is_over = true;
    });
  } catch (const std::system_error& error) {
    bridges_.pop_back();
    return failure(ErrorCode::ResourceExhausted, std::string("start a thread: ") + error.what());
  }
  return std::move(theirs);
}

}  // namespace nutshell::docker
