#include "egress/inspected_flows.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <system_error>

namespace nutshell::egress {

void InspectedFlows::hang_up(Served& served) {
  served.is_cut = true;
  for (const UniqueFd& socket : served.sockets)
    ::shutdown(socket.get(), SHUT_RDWR);
}

InspectedFlows::~InspectedFlows() {
  auto all = state_.with([](State& state) {
    state.is_ending = true;
    for (const auto& [number, served] : state.all)
      hang_up(*served);
    std::vector<std::thread> threads;
    for (const auto& [number, served] : state.all)
      threads.push_back(std::move(served->thread));
    return threads;
  });
  for (std::thread& thread : all)
    thread.join();
}

bool InspectedFlows::begin(std::uint32_t flow, std::function<void()> serve) {
  tidy();
  return state_.with([&](State& state) {
    if (state.all.size() >= kMost || state.is_ending) return false;
    const std::uint64_t number = ++state.last;
    auto served = std::make_unique<Served>();
    try {
      served->thread = std::thread([this, number, flow, serve = std::move(serve)] {
        serve();
        state_.with([&](State& all) {
          all.all.at(number)->is_done = true;
          all.all.at(number)->sockets.clear();
          const auto found = all.flows.find(flow);
          if (found != all.flows.end() && found->second == number) all.flows.erase(found);
        });
      });
    } catch (const std::system_error&) {
      return false;
    }
    state.all.emplace(number, std::move(served));
    state.flows[flow] = number;
    return true;
  });
}

void InspectedFlows::hold(std::uint32_t flow, int socket) {
  UniqueFd copy(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  state_.with([&](State& state) {
    const auto found = state.flows.find(flow);
    if (found == state.flows.end()) return;
    Served& served = *state.all.at(found->second);
    if (served.is_cut) ::shutdown(socket, SHUT_RDWR);
    // Connections to servers come and go: only the last few are open.
    constexpr std::size_t kMostSockets = 4;
    if (served.sockets.size() == kMostSockets) served.sockets.erase(served.sockets.begin() + 1);
    served.sockets.push_back(std::move(copy));
  });
}

void InspectedFlows::cut(std::uint32_t flow) {
  state_.with([flow](State& state) {
    const auto found = state.flows.find(flow);
    if (found != state.flows.end()) hang_up(*state.all.at(found->second));
  });
}

void InspectedFlows::tidy() {
  const auto ended = state_.with([](State& state) {
    std::vector<std::unique_ptr<Served>> done;
    for (auto one = state.all.begin(); one != state.all.end();) {
      if (one->second->is_done) {
        done.push_back(std::move(one->second));
        one = state.all.erase(one);
      } else {
        ++one;
      }
    }
    return done;
  });
  for (const auto& served : ended)
    served->thread.join();
}

}  // namespace nutshell::egress
