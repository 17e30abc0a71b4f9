#include "core/json_members.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nutshell {
namespace {

using Json = nlohmann::json;

TEST(JsonMembers, AreTakenByNameAndType) {
  const Json object = {{"text", "a"}, {"number", 1}, {"list", {"a", 2, "b", nullptr, "c"}}};
  EXPECT_EQ(text_of(object, "text"), "a");
  EXPECT_EQ(*member(object, "number"), 1);
  EXPECT_EQ(texts_of(object, "list"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(texts_of(object, "list", 2), (std::vector<std::string>{"a", "b"}));
}

TEST(JsonMembers, AreNothingWhereTheyAreMissingOrOfAnotherType) {
  for (const Json& document : {Json(), Json("text"), Json(1), Json::array({1}), Json::object(),
                               Json{{"text", 1}, {"list", "x"}}}) {
    EXPECT_EQ(text_of(document, "text"), "");
    EXPECT_TRUE(texts_of(document, "list").empty());
    EXPECT_EQ(member(document, "other"), nullptr);
  }
}

}  // namespace
}  // namespace nutshell
