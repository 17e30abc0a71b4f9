// Remembers which names led to which addresses: a connection names an address only, and it is
// allowed because of the name that was looked up before. Bounded; the oldest are forgotten first.
// Not thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "egress/address.h"

namespace nutshell::egress {

class PinnedNames {
 public:
  static constexpr std::size_t kMostPins = 8192;
  static constexpr std::size_t kMostNamesOfOne = 32;
  // Programs keep addresses for longer than DNS says.
  static constexpr std::chrono::hours kLeastTime{1};

  void pin(const Address& address, const std::string& name, std::chrono::seconds time_to_live,
           Clock::time_point now);
  // The most recent first.
  [[nodiscard]] std::vector<std::string> names_of(const Address& address,
                                                  Clock::time_point now) const;
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  struct Pin {
    std::string name;
    Clock::time_point until;
    std::uint64_t age = 0;
  };
  void forget_oldest();

  std::map<Address, std::vector<Pin>> pins_;  // the most recent last
  std::map<std::uint64_t, Address> ages_;
  std::uint64_t last_age_ = 0;
  std::size_t count_ = 0;
};

}  // namespace nutshell::egress
