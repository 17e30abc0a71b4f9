#include "backends/kubernetes/object_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace nutshell::kubernetes {
namespace {

std::vector<std::string> ids() {
  std::vector<std::string> all = {"",
                                  "alice",
                                  "Alice",
                                  "alice ",
                                  "user:42/notes",
                                  "user-42-notes",
                                  "_._",
                                  "日本語のセッション",
                                  "session/../../etc",
                                  std::string("nul\0byte", 8),
                                  "not UTF-8 \xff\xfe",
                                  std::string(5000, 'x'),
                                  std::string(5000, 'x') + "y",
                                  "a\nb\tc\"d\\e",
                                  "0123456789012345678-",
                                  "0123456789012345678--x"};
  for (int byte = 0; byte < 256; ++byte)
    all.emplace_back(1, static_cast<char>(byte));
  return all;
}

// The rule of RFC 1123 for a label, and of RFC 1035, which services follow.
bool is_dns_label(const std::string& name) {
  const auto is_sound = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
  };
  return !name.empty() && name.size() <= 63 && name.front() >= 'a' && name.front() <= 'z' &&
         name.back() != '-' && std::all_of(name.begin(), name.end(), is_sound);
}

TEST(ObjectNames, AreValidAndUnique) {
  std::set<std::string> names;
  for (const std::string& id : ids()) {
    const std::string name = object_name(id);
    EXPECT_TRUE(is_dns_label(name)) << name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name, object_name(id));
  }
}

TEST(ObjectNames, ShowWhatCanBeReadOfTheId) {
  EXPECT_THAT(object_name("Alice's notes"), testing::StartsWith("nutshell-alice-s-notes-"));
  EXPECT_EQ(object_name("日本").size(), std::string("nutshell-").size() + 32);
}

TEST(ObjectNames, MarksAreValidAndGiveTheIdBack) {
  std::set<std::string> selectors;
  for (const std::string& id : ids()) {
    const Marks marks = marks_of(id);
    for (const auto& [name, value] : marks.labels) {
      EXPECT_TRUE(is_label_name(name));
      EXPECT_TRUE(is_label_value(value));
      EXPECT_EQ(selector_of(id), name + "=" + value);
    }
    for (const auto& [name, value] : marks.annotations)
      EXPECT_TRUE(is_label_name(name)) << value;
    EXPECT_EQ(id_of(marks), id);
    EXPECT_TRUE(selectors.insert(selector_of(id)).second);
  }
}

TEST(ObjectNames, AChangedMarkGivesNoId) {
  Marks marks = marks_of("alice");
  marks.annotations.begin()->second = "bob";
  EXPECT_EQ(id_of(marks), std::nullopt);
  marks = marks_of("alice");
  marks.labels.clear();
  EXPECT_EQ(id_of(marks), std::nullopt);
  EXPECT_EQ(id_of({}), std::nullopt);
}

TEST(ObjectNames, KnowWhatKubernetesTakesAsALabel) {
  EXPECT_TRUE(is_label_value(""));
  EXPECT_TRUE(is_label_value("A.b_c-9"));
  EXPECT_TRUE(is_label_value(std::string(63, 'x')));
  for (const std::string& text : {std::string(64, 'x'), std::string("-a"), std::string("a."),
                                  std::string("a b"), std::string("ä")})
    EXPECT_FALSE(is_label_value(text)) << text;
  EXPECT_TRUE(is_label_name("team"));
  EXPECT_TRUE(is_label_name("example.org/Team_1"));
  for (const char* text :
       {"", "/team", "example.org/", "Example.org/a", "a..b/c", "a/b/c", "-a.b/c"})
    EXPECT_FALSE(is_label_name(text)) << text;
}

}  // namespace
}  // namespace nutshell::kubernetes
