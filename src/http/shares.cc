#include "http/shares.h"

namespace nutshell::http {

bool Shares::take(const Admission& of, std::size_t amount) {
  return state_.with([&](State& state) {
    std::size_t& own = state.own[of.holder];
    FairBounds bounds = bounds_;
    if (of.caller_kind == CallerKind::Owner) bounds.one = bounds.all;
    const bool is_allowed = bounds.allow(own, state.total, amount);
    if (is_allowed) {
      own += amount;
      state.total += amount;
    }
    if (own == 0) state.own.erase(of.holder);
    return is_allowed;
  });
}

void Shares::give_back(const std::string& holder, std::size_t amount) {
  if (amount == 0) return;
  state_.with([&](State& state) {
    const auto found = state.own.find(holder);
    found->second -= amount;
    state.total -= amount;
    if (found->second == 0) state.own.erase(found);
  });
}

}  // namespace nutshell::http
