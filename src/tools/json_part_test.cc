#include "tools/json_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nutshell {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kMany = 100'000;
constexpr const char* kJson = R"({"items": [{"n": 1}, {"n": 2}, {"n": 3}], "name": "a\nb"})";

TEST(JsonPart, GivesElementsMembersAndValues) {
  EXPECT_THAT(select_json(kJson, "/items", RowRange{1, 2}, kMany).lines,
              ElementsAre(R"([1] {"n":2})", R"([2] {"n":3})"));
  EXPECT_THAT(select_json(kJson, "/items/0", std::nullopt, kMany).lines, ElementsAre("n: 1"));
  EXPECT_EQ(select_json(kJson, "", RowRange{0, 0}, kMany).total, 2U);
  EXPECT_THAT(select_json("{\"a\": 10000}\n{\"a\": 20000}\n", "", RowRange{1, 1}, kMany).lines,
              ElementsAre(R"([1] {"a":20000})"));
}

TEST(JsonPart, SaysWhatThereIsInstead) {
  const auto part = select_json(kJson, "/items/7", std::nullopt, kMany);
  EXPECT_EQ(part.problem, "Nothing is at `pointer` /items/7.");
  EXPECT_EQ(part.advice, "/items has 3 elements, counted from 0.");
  EXPECT_EQ(select_json(kJson, "/none", std::nullopt, kMany).advice,
            "The JSON has the keys items, name.");
  EXPECT_THAT(select_json(kJson, "items", std::nullopt, kMany).advice, HasSubstr("with a slash"));
  EXPECT_THAT(select_json(kJson, "/items", RowRange{9, 9}, kMany).problem,
              HasSubstr("behind the end"));
  EXPECT_THAT(select_json("plain text\n", "", RowRange{0, 1}, kMany).problem,
              HasSubstr("not JSON"));
}

TEST(JsonPart, ReadsRanges) {
  ASSERT_TRUE(parse_rows("40-80"));
  EXPECT_EQ(parse_rows("40-80")->last, 80U);
  EXPECT_EQ(parse_rows("7")->last, 7U);
  for (const char* bad : {"", "-", "4-", "8-4", "a", "1-2-3", "99999999999"})
    EXPECT_FALSE(parse_rows(bad)) << bad;
}

}  // namespace
}  // namespace nutshell
