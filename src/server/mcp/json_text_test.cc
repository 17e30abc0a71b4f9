#include "server/mcp/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nutshell::mcp {
namespace {

TEST(WithFields, AddsToEmptyAndFullObjects) {
  EXPECT_EQ(with_fields("{}", "\"a\":1"), "{\"a\":1}");
  EXPECT_EQ(with_fields("{\"b\":2}", "\"a\":1"), "{\"b\":2,\"a\":1}");
  EXPECT_EQ(with_fields("{}", ""), "{}");
}

TEST(JsonString, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(json_string("a\xff\n"), "\"a\xef\xbf\xbd\\n\"");
}

}  // namespace
}  // namespace nutshell::mcp
