#include "http/stream_relays.h"

#include <poll.h>
#include <sys/socket.h>

#include <system_error>
#include <thread>

#include "base/socket.h"
#include "http/signals_blocked.h"

namespace nutshell::http {
namespace {

// Whether the other end is closed and no byte from it is left to carry.
bool is_closed(int socket) {
  pollfd state{socket, 0, 0};
  if (::poll(&state, 1, 0) < 1 || (state.revents & POLLHUP) == 0) return false;
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

}  // namespace

StreamRelays::~StreamRelays() {
  std::unique_lock lock(open_->mutex);
  for (const Stream& stream : open_->streams) {
    ::shutdown(stream.socket.get(), SHUT_RDWR);
    ::shutdown(stream.transport->descriptor(), SHUT_RDWR);
  }
  open_->changed.wait(lock, [this] { return open_->streams.empty(); });
}

std::size_t StreamRelays::count() const {
  const std::lock_guard lock(open_->mutex);
  return open_->streams.size();
}

void StreamRelays::carry(Open& open, std::list<Stream>::iterator stream) {
  const int socket = stream->socket.get();
  // An error ends the stream. The reader sees the end and asks the backend for the reason.
  (void)relay(*stream->transport, socket, {[socket] { return is_closed(socket); }, nullptr});
  const std::lock_guard lock(open.mutex);
  open.streams.erase(stream);
  open.changed.notify_all();
}

Result<UniqueFd> StreamRelays::add(std::unique_ptr<Transport> transport) {
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  const std::lock_guard lock(open_->mutex);
  const auto stream =
      open_->streams.insert(open_->streams.end(), Stream{std::move(transport), std::move(ours)});
  const SignalsBlocked blocked;
  try {
    std::thread([open = open_, stream] { carry(*open, stream); }).detach();
  } catch (const std::system_error& error) {
    open_->streams.erase(stream);
    return failure(ErrorCode::ResourceExhausted, std::string("start a thread: ") + error.what());
  }
  return std::move(theirs);
}

}  // namespace nutshell::http
