#include "containers/first_streams.h"

#include <poll.h>

namespace nutshell::containers {

void FirstStreams::add(const std::string& id, UniqueFd stream, Lifetime lifetime) {
  streams_.insert_or_assign(id, Entry{std::move(stream), lifetime});
}

bool FirstStreams::is_owner(const std::string& id) const {
  const auto found = streams_.find(id);
  return found != streams_.end() && found->second.lifetime == Lifetime::WithCaller;
}

UniqueFd FirstStreams::take(const std::string& id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.lifetime == Lifetime::WithCallerUntilReleased)
    return {};
  UniqueFd stream = std::move(found->second.stream);
  streams_.erase(found);
  return stream;
}

void FirstStreams::release(const std::string& id) {
  const auto found = streams_.find(id);
  if (found != streams_.end()) found->second.lifetime = Lifetime::Kept;
}

void FirstStreams::tidy() {
  std::erase_if(streams_, [](const auto& one) {
    pollfd state{one.second.stream.get(), 0, 0};
    return ::poll(&state, 1, 0) != 0;  // POLLHUP or an error: no other event was asked for
  });
}

}  // namespace nutshell::containers
