#include "service/connections.h"

#include <poll.h>

namespace nutshell::service {
namespace {

// Between conversations init says nothing: whatever can be read is the end, or out of order.
bool is_quiet(int descriptor) {
  pollfd state{descriptor, POLLIN, 0};
  return ::poll(&state, 1, 0) == 0;
}

}  // namespace

Result<Connection> Connections::open(const std::string& sandbox) {
  auto lane = lanes_.take();
  UniqueFd stream = TRY(lane->open_stream(sandbox)).stream;
  const int descriptor = stream.get();
  return Connection{descriptor, wire::InitClient(std::move(stream))};
}

Result<Connection> Connections::take(const std::string& sandbox) {
  for (;;) {
    auto found = state_.with([&sandbox](State& state) {
      std::vector<Connection> one;
      const auto place = state.idle.find(sandbox);
      if (place == state.idle.end()) return one;
      one.push_back(std::move(place->second.back()));
      place->second.pop_back();
      if (place->second.empty()) state.idle.erase(place);
      --state.count;
      return one;
    });
    if (found.empty()) return open(sandbox);
    if (is_quiet(found.front().descriptor)) return std::move(found.front());
  }
}

void Connections::keep(const std::string& sandbox, Connection connection) {
  state_.with([&](State& state) {
    if (state.count >= kMostIdle) return;
    auto& idle = state.idle[sandbox];
    if (idle.size() >= kMostIdleEach) return;
    idle.push_back(std::move(connection));
    ++state.count;
  });
}

Result<> Connections::prepare(const std::string& sandbox) {
  Connection connection = TRY(open(sandbox));
  TRY(connection.client.ping());  // greeted now, and not while somebody waits
  keep(sandbox, std::move(connection));
  return {};
}

bool Connections::stands(const std::string& sandbox) {
  return state_.with([&sandbox](State& state) {
    const auto place = state.idle.find(sandbox);
    return place == state.idle.end() || is_quiet(place->second.back().descriptor);
  });
}

void Connections::forget(const std::string& sandbox) {
  // Closed outside of the lock.
  const auto dropped = state_.with([&sandbox](State& state) {
    auto node = state.idle.extract(sandbox);
    if (!node.empty()) state.count -= node.mapped().size();
    return node;
  });
}

}  // namespace nutshell::service
