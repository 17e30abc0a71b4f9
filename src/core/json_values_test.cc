#include "core/json_values.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

TEST(JsonReader, ReadsKindsKeysAndPlaces) {
  const std::string text = R"({"a":[1,"x\n\u00e9",null],"b\/c":{"d":true}})";
  JsonTree tree;
  JsonReader reader(text);
  ASSERT_EQ(reader.read(0, tree), text.size());
  ASSERT_EQ(tree.nodes.size(), 7U);
  EXPECT_EQ(tree.nodes[0].children, 2U);
  EXPECT_EQ(tree.nodes[1].next, 5U);
  EXPECT_EQ(json_text(json_raw(text, tree.nodes[3]), JsonKind::String), "x\n\xc3\xa9");
  EXPECT_EQ(json_key_text(text, tree.nodes[5]), "b/c");
}

TEST(JsonReader, RefusesWhatIsNoJson) {
  for (const std::string text : {"{a}", "[1 2]", "{\"a\" 1}", "[tru]", "{\"a\":}", "[\"x\ny\"]"}) {
    JsonTree tree;
    EXPECT_FALSE(JsonReader(text).read(0, tree)) << text;
    EXPECT_TRUE(tree.nodes.empty());
  }
}

TEST(JsonReader, ReadsATextThatEndsEarlyIfAsked) {
  const std::string text = R"([{"a": 1}, {"b": [2, "cu)";
  JsonTree tree;
  JsonReader reader(text);
  EXPECT_FALSE(reader.read(0, tree));
  ASSERT_EQ(reader.read(0, tree, true), text.size());
  EXPECT_FALSE(tree.is_complete);
  EXPECT_EQ(tree.nodes[0].children, 2U);
  EXPECT_EQ(tree.nodes[0].next, tree.nodes.size());
}

TEST(JsonReader, RefusesWhatIsTooDeep) {
  JsonTree tree;
  EXPECT_FALSE(JsonReader(std::string(100'000, '[')).read(0, tree, true));
}

TEST(JsonValues, FindsValuesBetweenOtherLines) {
  const auto found = find_json("warning: old key\n{\"a\": 1,\n \"b\": [5, 6]}\n{\"a\": 2}\ndone\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->roots.size(), 2U);
  ASSERT_EQ(found->other.size(), 2U);
  EXPECT_EQ(found->other[0], "warning: old key");
  EXPECT_EQ(found->filled, 5U);
  EXPECT_FALSE(find_json("no JSON here, but text of some length\n[x]\n"));
}

TEST(JsonValues, FindsWhatAPointerNames) {
  const auto found = find_json(R"({"items": [{"n": "a"}, {"x/y~z": [7]}], "": 3})");
  ASSERT_TRUE(found);
  for (const std::string pointer : {"", "/items", "/items/1", "/items/1/x~1y~0z/0", "/"}) {
    const auto node = find_pointer(*found, pointer);
    ASSERT_TRUE(node) << pointer;
    EXPECT_EQ(pointer_to(*found, *node), pointer);
  }
  for (const std::string pointer : {"items", "/items/2", "/items/a", "/none", "/items/0/n/1"})
    EXPECT_FALSE(find_pointer(*found, pointer)) << pointer;
}

TEST(JsonValues, NumbersValuesThatFollowEachOther) {
  const auto found = find_json("{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3}\n");
  ASSERT_TRUE(found);
  const auto node = find_pointer(*found, "/2/a");
  ASSERT_TRUE(node);
  EXPECT_EQ(pointer_to(*found, *node), "/2/a");
  EXPECT_FALSE(find_pointer(*found, "/3"));
}

}  // namespace
}  // namespace nutshell
