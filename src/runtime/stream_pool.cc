#include "runtime/stream_pool.h"

#include <sys/resource.h>

#include <algorithm>

namespace nutshell {

std::size_t StreamPool::default_most() {
  constexpr std::size_t kMost = 2048;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMostOfOneSandbox;
  return std::min<std::size_t>(kMost, limit.rlim_cur / 4);
}

std::optional<wire::InitClient> StreamPool::take(const std::string& sandbox) {
  for (;;) {
    auto found = state_.with([&sandbox](State& state) -> std::optional<wire::InitClient> {
      const auto place = state.idle.find(sandbox);
      if (place == state.idle.end()) return std::nullopt;
      auto client = std::move(place->second.back().client);
      place->second.pop_back();
      if (place->second.empty()) state.idle.erase(place);
      --state.count;
      return client;
    });
    if (!found || found->channel().is_quiet()) return found;
  }
}

void StreamPool::keep(const std::string& sandbox, wire::InitClient client) {
  if (!client.channel().is_open()) return;
  std::vector<Idle> closed;
  state_.with([&](State& state) {
    const auto now = Clock::now();
    if (now - state.tidied >= kSurplusTime) closed = extract_surplus(state);
    const auto place = state.idle.find(sandbox);
    if (place != state.idle.end() && place->second.size() >= kMostOfOneSandbox) return;
    if (state.count >= most_idle_) {
      for (Idle& oldest : extract_oldest(state))
        closed.push_back(std::move(oldest));
    }
    if (state.count >= most_idle_) return;
    state.idle[sandbox].push_back({std::move(client), now});
    ++state.count;
  });
}

void StreamPool::close(const std::string& sandbox) {
  const auto closed = state_.with([&sandbox](State& state) {
    auto node = state.idle.extract(sandbox);
    if (!node.empty()) state.count -= node.mapped().size();
    return node;
  });
}

void StreamPool::tidy(const std::function<bool(const std::string& sandbox)>& is_known) {
  std::vector<std::string> sandboxes;
  const auto closed = state_.with([&sandboxes](State& state) {
    for (const auto& [sandbox, idle] : state.idle)
      sandboxes.push_back(sandbox);
    return extract_surplus(state);
  });
  for (const std::string& sandbox : sandboxes) {
    if (!is_known(sandbox)) close(sandbox);
  }
}

bool StreamPool::has_ended(const std::string& sandbox) {
  return state_.with([&sandbox](State& state) {
    const auto place = state.idle.find(sandbox);
    return place != state.idle.end() && !place->second.back().client.channel().is_quiet();
  });
}

std::size_t StreamPool::count() {
  return state_.with([](State& state) { return state.count; });
}

std::vector<StreamPool::Idle> StreamPool::extract_surplus(State& state) {
  std::vector<Idle> surplus;
  state.tidied = Clock::now();
  for (auto& [sandbox, idle] : state.idle) {
    while (idle.size() > 1 && state.tidied - idle.front().since >= kSurplusTime) {
      surplus.push_back(std::move(idle.front()));
      idle.erase(idle.begin());
    }
  }
  state.count -= surplus.size();
  return surplus;
}

std::vector<StreamPool::Idle> StreamPool::extract_oldest(State& state) {
  std::vector<Idle> oldest;
  const auto place = std::min_element(
      state.idle.begin(), state.idle.end(), [](const auto& one, const auto& other) {
        return one.second.front().since < other.second.front().since;
      });
  if (place == state.idle.end()) return oldest;
  oldest.push_back(std::move(place->second.front()));
  place->second.erase(place->second.begin());
  if (place->second.empty()) state.idle.erase(place);
  --state.count;
  return oldest;
}

}  // namespace nutshell
