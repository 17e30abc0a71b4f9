#include "service/connections.h"

namespace nutshell::service {
namespace {

constexpr std::chrono::seconds kPrepareTime{60};

Connection connection_of(UniqueFd stream) {
  return {wire::InitClient(std::move(stream))};
}

}  // namespace

Result<Connection> Connections::open(const std::string& sandbox) {
  // Only its own backend is asked: another one may not answer.
  const std::string backend = backend_of_(sandbox);
  auto lane = lanes_.take();
  if (backend.empty()) return connection_of(TRY(lane->open_stream(sandbox)).stream);
  return connection_of(TRY(TRY(lane->backend(backend))->connect(sandbox)));
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
    if (found.front().client.channel().is_quiet()) return std::move(found.front());
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

void Connections::keep(const std::string& sandbox, wire::InitClient client) {
  keep(sandbox, Connection{std::move(client)});
}

Result<> Connections::prepare(const std::string& sandbox) {
  return ping(sandbox, Deadline::in(kPrepareTime));  // greeted now, and not while somebody waits
}

Result<> Connections::ping(const std::string& sandbox, const Deadline& deadline) {
  Connection connection = TRY(take(sandbox));
  TRY(connection.client.ping(deadline));
  keep(sandbox, std::move(connection));
  return {};
}

bool Connections::stands(const std::string& sandbox) {
  return state_.with([&sandbox](State& state) {
    const auto place = state.idle.find(sandbox);
    return place == state.idle.end() || place->second.back().client.channel().is_quiet();
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

void Connections::drop_ended() {
  const auto sandboxes = state_.with([](State& state) {
    std::vector<std::string> names;
    for (const auto& [sandbox, idle] : state.idle)
      names.push_back(sandbox);
    return names;
  });
  // One that is hung up stays until its sandbox is let go: stands() tells by it that it has ended.
  for (const std::string& sandbox : sandboxes) {
    if (backend_of_(sandbox).empty()) forget(sandbox);
  }
}

}  // namespace nutshell::service
