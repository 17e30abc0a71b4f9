#include "egress/pinned_names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nutshell::egress {
namespace {

using namespace std::chrono_literals;

Address address(const std::string& text) {
  return Address::parse(text).value_or(Address());
}

TEST(PinnedNames, AreOfTheAddressTheyLedTo) {
  PinnedNames pins;
  const auto now = Clock::now();
  pins.pin(address("192.0.2.1"), "a.example", 60s, now);
  pins.pin(address("192.0.2.1"), "b.example", 60s, now);
  pins.pin(address("192.0.2.1"), "a.example", 60s, now);
  pins.pin(address("192.0.2.2"), "c.example", 60s, now);
  EXPECT_EQ(pins.names_of(address("::ffff:192.0.2.1"), now),
            (std::vector<std::string>{"a.example", "b.example"}));
  EXPECT_EQ(pins.names_of(address("192.0.2.3"), now), std::vector<std::string>());
  EXPECT_EQ(pins.size(), 3U);
}

TEST(PinnedNames, EndAfterAnHourOrTheirOwnTime) {
  PinnedNames pins;
  const auto now = Clock::now();
  pins.pin(address("192.0.2.1"), "short.example", 1s, now);
  pins.pin(address("192.0.2.1"), "long.example", 7200s, now);
  EXPECT_EQ(pins.names_of(address("192.0.2.1"), now + 59min).size(), 2U);
  EXPECT_EQ(pins.names_of(address("192.0.2.1"), now + 61min),
            std::vector<std::string>{"long.example"});
  EXPECT_TRUE(pins.names_of(address("192.0.2.1"), now + 3h).empty());
}

TEST(PinnedNames, AreBounded) {
  PinnedNames pins;
  const auto now = Clock::now();
  pins.pin(address("192.0.2.1"), "first.example", 60s, now);
  for (std::size_t number = 0; number < PinnedNames::kMostPins + 100; ++number) {
    pins.pin(address(fmt::format("2001:db8::{:x}", number / 8)), fmt::format("n{}", number), 60s,
             now);
  }
  EXPECT_EQ(pins.size(), PinnedNames::kMostPins);
  EXPECT_TRUE(pins.names_of(address("192.0.2.1"), now).empty());
  for (int number = 0; number < 100; ++number)
    pins.pin(address("192.0.2.9"), fmt::format("n{}", number), 60s, now);
  EXPECT_EQ(pins.names_of(address("192.0.2.9"), now).size(), PinnedNames::kMostNamesOfOne);
  EXPECT_EQ(pins.names_of(address("192.0.2.9"), now).front(), "n99");
}

}  // namespace
}  // namespace nutshell::egress
