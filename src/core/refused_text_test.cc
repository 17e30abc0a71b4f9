#include "core/refused_text.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

TEST(RefusedText, NamesWhatIsAllowedOnce) {
  ExecResult result;
  EXPECT_EQ(refused_text(result), "");
  result.refused_connections = {"a.org:443 is not allowed; allowed are pypi"};
  result.refused_connection_count = 1;
  EXPECT_EQ(refused_text(result),
            "1 connection refused: a.org:443 is not allowed; allowed are pypi");
  result.refused_connections.emplace_back("b.org is not allowed; allowed are pypi");
  result.refused_connection_count = 7;
  EXPECT_EQ(refused_text(result),
            "7 connections refused: a.org:443 is not allowed, b.org is not allowed; "
            "allowed are pypi");
}

TEST(RefusedText, ShowsOnlySomeOfMany) {
  ExecResult result;
  for (const char* host : {"a", "b", "c", "d", "e", "f"})
    result.refused_connections.push_back(std::string(host) + " is not allowed");
  EXPECT_EQ(refused_text(result),
            "6 connections refused: a is not allowed, b is not allowed, c is not allowed, d is "
            "not allowed; and 2 more");
}

}  // namespace
}  // namespace nutshell
