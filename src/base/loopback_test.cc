#include "base/loopback.h"

#include <gtest/gtest.h>

#include <string>

namespace nutshell {
namespace {

using namespace std::string_view_literals;

TEST(Loopback, IsAnAddressOfThisMachine) {
  for (const char* text : {"127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1"})
    EXPECT_TRUE(is_loopback_address(text)) << text;
  EXPECT_TRUE(is_loopback_host("localhost"));
  EXPECT_FALSE(is_loopback_address("localhost"));
}

TEST(Loopback, IsNoNameThatOnlyLooksLikeOne) {
  for (const auto text :
       {"127.evil.example"sv, "127.0.0.1.evil.example"sv, "127.0.0.1\0.evil.example"sv, "127."sv,
        "127"sv, "127.1"sv, "128.0.0.1"sv, "0.0.0.0"sv, "::"sv, "::2"sv, "[::1]"sv, "::1.evil"sv,
        "localhost.evil.example"sv, "::ffff:127.0.0.1.evil"sv, ""sv, " 127.0.0.1"sv})
    EXPECT_FALSE(is_loopback_host(text)) << text;
}

}  // namespace
}  // namespace nutshell
