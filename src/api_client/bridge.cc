#include "api_client/bridge.h"

#include "base/socket.h"
#include "base/spawn.h"

namespace nutshell::api {

void Bridges::forget_ended() {
  std::erase_if(children_, [](ChildProcess& child) {
    const auto ended = child.wait(Deadline::in(std::chrono::seconds(0)));
    return ended && ended->has_value();
  });
}

Result<UniqueFd> Bridges::open(const std::string& url) {
  forget_ended();
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  // In its own session: an interrupt at the terminal is for the command, which still needs this.
  children_.push_back(TRY(spawn({.arguments = {program_.native(), "--bridge", url},
                                 .input = theirs.get(),
                                 .output = theirs.get(),
                                 .session = Command::Session::Own})));
  return std::move(ours);
}

}  // namespace nutshell::api
