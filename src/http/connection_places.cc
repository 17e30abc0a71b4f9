#include "http/connection_places.h"

namespace nutshell::http {

std::size_t ConnectionPlaces::total() const {
  return state_.with([](const State& state) { return state.total; });
}

std::size_t ConnectionPlaces::of(const std::string& group) const {
  return state_.with([&](const State& state) {
    const auto found = state.groups.find(group);
    return found == state.groups.end() ? std::size_t{0} : found->second;
  });
}

std::string ConnectionPlaces::largest(const std::string& prefix) const {
  return state_.with([&](const State& state) {
    std::string name;
    std::size_t most = 0;
    for (auto one = state.groups.lower_bound(prefix); one != state.groups.end(); ++one) {
      if (!one->first.starts_with(prefix)) break;
      if (one->second <= most) continue;
      most = one->second;
      name = one->first;
    }
    return name;
  });
}

void ConnectionPlaces::add(const std::string& group) {
  state_.with([&](State& state) {
    ++state.groups[group];
    ++state.total;
  });
}

void ConnectionPlaces::remove(const std::string& group) {
  state_.with([&](State& state) {
    const auto found = state.groups.find(group);
    if (--found->second == 0) state.groups.erase(found);
    --state.total;
  });
}

void ConnectionPlaces::move(const std::string& from, const std::string& to) {
  state_.with([&](State& state) {
    const auto found = state.groups.find(from);
    if (--found->second == 0) state.groups.erase(found);
    ++state.groups[to];
  });
}

std::string group_of(const Admission& admission, const Remote& remote) {
  switch (admission.caller_kind) {
    case CallerKind::Stranger:
      return kStrangerGroup + source_of(remote);
    case CallerKind::Tenant:
      return admission.holder.starts_with(kTenantGroup) ? admission.holder
                                                        : kTenantGroup + admission.holder;
    case CallerKind::Owner:
      return "owner";
  }
  return {};
}

}  // namespace nutshell::http
