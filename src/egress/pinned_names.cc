#include "egress/pinned_names.h"

#include <algorithm>

namespace nutshell::egress {

void PinnedNames::pin(const Address& address, const std::string& name,
                      std::chrono::seconds time_to_live, Clock::time_point now) {
  auto& pins = pins_[address];
  const auto forget = [&](auto found) {
    ages_.erase(found->age);
    pins.erase(found);
    --count_;
  };
  const auto same =
      std::find_if(pins.begin(), pins.end(), [&](const Pin& pin) { return pin.name == name; });
  if (same != pins.end()) forget(same);
  if (pins.size() == kMostNamesOfOne) forget(pins.begin());
  const auto lives = std::max<std::chrono::seconds>(time_to_live, kLeastTime);
  pins.push_back({name, now + lives, ++last_age_});
  ages_.emplace(last_age_, address);
  if (++count_ > kMostPins) forget_oldest();
}

void PinnedNames::forget_oldest() {
  const auto [age, address] = *ages_.begin();
  ages_.erase(ages_.begin());
  --count_;
  const auto found = pins_.find(address);
  found->second.erase(found->second.begin());  // the most recent is last
  if (found->second.empty()) pins_.erase(found);
}

std::vector<std::string> PinnedNames::names_of(const Address& address,
                                               Clock::time_point now) const {
  std::vector<std::string> names;
  const auto found = pins_.find(address);
  if (found == pins_.end()) return names;
  for (auto pin = found->second.rbegin(); pin != found->second.rend(); ++pin) {
    if (pin->until > now) names.push_back(pin->name);
  }
  return names;
}

}  // namespace nutshell::egress
