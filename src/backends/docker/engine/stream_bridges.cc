#include "backends/docker/engine/stream_bridges.h"

#include <poll.h>
#include <sys/socket.h>

#include <csignal>
#include <system_error>
#include <thread>

#include "base/socket.h"

namespace nutshell::docker {
namespace {

// Blocks all signals, so that a new thread inherits that: they are handled by the main thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// Whether the other end is closed and all of its bytes were read.
bool is_closed(int stream) {
  pollfd state{stream, 0, 0};
  if (::poll(&state, 1, 0) < 1 || (state.revents & POLLHUP) == 0) return false;
  char byte = 0;
  return ::recv(stream, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

}  // namespace

StreamBridges::~StreamBridges() {
  std::unique_lock lock(open_->mutex);
  for (const Bridge& bridge : open_->bridges) {
    ::shutdown(bridge.stream.get(), SHUT_RDWR);
    ::shutdown(bridge.transport->descriptor(), SHUT_RDWR);
  }
  open_->changed.wait(lock, [this] { return open_->bridges.empty(); });
}

std::size_t StreamBridges::count() const {
  const std::lock_guard lock(open_->mutex);
  return open_->bridges.size();
}

void StreamBridges::carry(Open& open, std::list<Bridge>::iterator bridge) {
  const int stream = bridge->stream.get();
  // An error ends the stream. Its reader sees the end and asks the backend for the reason.
  (void)http::relay(*bridge->transport, stream, {[stream] { return is_closed(stream); }, nullptr});
  const std::lock_guard lock(open.mutex);
  open.bridges.erase(bridge);
  open.changed.notify_all();
}

Result<UniqueFd> StreamBridges::add(http::Client::Upgraded upgraded) {
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  Bridge made{
      std::make_unique<DemuxTransport>(std::move(upgraded.transport), std::move(upgraded.early)),
      std::move(ours)};
  const std::lock_guard lock(open_->mutex);
  const auto bridge = open_->bridges.insert(open_->bridges.end(), std::move(made));
  const SignalsBlocked blocked;
  try {
    std::thread([open = open_, bridge] { carry(*open, bridge); }).detach();
  } catch (const std::system_error& error) {
    open_->bridges.erase(bridge);
    return failure(ErrorCode::ResourceExhausted, std::string("start a thread: ") + error.what());
  }
  return std::move(theirs);
}

}  // namespace nutshell::docker
