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
  EXPECT_EQ(count_of(object, "number"), 1U);
  EXPECT_EQ(count_of({{"number", -1}}, "number"), 0U);
  EXPECT_EQ(texts_of(object, "list"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(texts_of(object, "list", 2), (std::vector<std::string>{"a", "b"}));
}

TEST(JsonMembers, AreEmptyIfMissingOrOfAnotherType) {
  for (const Json& document : {Json(), Json("text"), Json(1), Json::array({1}), Json::object(),
                               Json{{"text", nullptr}, {"list", "x"}}}) {
    EXPECT_EQ(text_of(document, "text"), "");
    EXPECT_EQ(count_of(document, "text"), 0U) << document;
    EXPECT_TRUE(texts_of(document, "list").empty());
    EXPECT_EQ(member(document, "other"), nullptr);
  }
}

}  // namespace
}  // namespace nutshell
