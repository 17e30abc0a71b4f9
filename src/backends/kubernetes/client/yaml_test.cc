#include "backends/kubernetes/client/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nutshell::kubernetes {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

TEST(Yaml, ReadsBlocksAndFlows) {
  const auto read = parse_yaml(
      "# a comment\n"
      "kind: Config\n"
      "clusters:\n"
      "- name: one\n"
      "  cluster: {server: \"https://127.0.0.1:6443\", insecure-skip-tls-verify: true}\n"
      "- name: 'two'\n"
      "text: |\n"
      "  line\n"
      "  more\n"
      "empty:\n"
      "none: null\n"
      "word: \"null\"\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, Json::parse(R"({"kind": "Config", "clusters": [
      {"name": "one", "cluster": {"server": "https://127.0.0.1:6443",
                                  "insecure-skip-tls-verify": "true"}},
      {"name": "two"}], "text": "line\nmore\n", "empty": null, "none": null, "word": "null"})"));
}

TEST(Yaml, ReadsJsonToo) {
  const auto read = parse_yaml(R"({"a": [1, true, null, "x"]})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, Json::parse(R"({"a": ["1", "true", null, "x"]})"));
}

TEST(Yaml, AnEmptyTextIsNull) {
  EXPECT_EQ(parse_yaml("").value(), Json());
  EXPECT_EQ(parse_yaml("# nothing\n").value(), Json());
}

TEST(Yaml, RefusesWhatTwoReadersCouldUnderstandDifferently) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a: 1\na: 2\n", "'a' is given twice"},
      {"a: 1\n---\nb: 2\n", "more than one document"},
      {"a: &x [1]\nb: *x\n", "aliases"},
      {"? [1]\n: 2\n", "a key is not a text"},
      {"a: [1\n", "line 2"},
      {"a: \"\\q\"\n", "line 1"},
      {std::string("a: \xff\n"), "YAML"},
      {std::string(40, '['), "nested too deeply"},
  };
  for (const auto& [text, why] : cases) {
    const auto read = parse_yaml(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::InvalidArgument) << text;
    EXPECT_THAT(read.error().message, HasSubstr(why)) << text;
  }
  EXPECT_FALSE(parse_yaml(std::string((4U << 20U) + 1, ' ')));
}

}  // namespace
}  // namespace nutshell::kubernetes
