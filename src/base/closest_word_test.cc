#include "base/closest_word.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

const std::vector<std::string> kWords = {"memory", "pids", "timeout"};

TEST(ClosestWord, IsTheClosestWord) {
  EXPECT_EQ(closest_word("memroy", kWords), "memory");
  EXPECT_EQ(closest_word("timout", kWords), "timeout");
  EXPECT_EQ(closest_word("pid", kWords), "pids");
}

TEST(ClosestWord, MayBeAPartOfTheWordOrContainIt) {
  EXPECT_EQ(closest_word("file_path", {"limit", "path"}), "path");
  EXPECT_EQ(closest_word("lines", {"first_line", "max_lines"}), "max_lines");
}

TEST(ClosestWord, IsTheOneThatBeginsLikeAnAbbreviation) {
  EXPECT_EQ(closest_word("mem", {"memory", "members_of_all"}), "memory");
  EXPECT_EQ(closest_word("time", {"timeout", "dime"}), "timeout");
}

TEST(ClosestWord, IsNotAWildGuess) {
  EXPECT_EQ(closest_word("", kWords), "");
  EXPECT_EQ(closest_word("zebra", kWords), "");
  EXPECT_EQ(closest_word("memory", {}), "");
}

}  // namespace
}  // namespace nutshell
