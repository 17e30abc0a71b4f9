#include "core/text_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/every_type_fixture.h"
#include "core/exec.h"
#include "core/noun_catalogue.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Sets the field with this flag; returns the error message, or an empty text.
std::string set(EveryType& every, std::string_view flag, std::string_view text) {
  std::string message = "no such flag";
  for_each_flag(every, [&](const FieldInfo& info, auto& member) {
    if constexpr (HasTextForm<std::remove_cvref_t<decltype(member)>>) {
      if (info.flag != flag) return;
      const auto read = read_text(info, text, member);
      message = read ? "" : read.error().message;
    }
  });
  return message;
}

TEST(TextForm, SetsMembersOfEveryType) {
  EveryType every;
  EXPECT_EQ(set(every, "small", "7"), "");
  EXPECT_EQ(set(every, "bytes", "2m"), "");
  EXPECT_EQ(set(every, "cpus", "0.25"), "");
  EXPECT_EQ(set(every, "word", "overlay"), "");
  EXPECT_EQ(set(every, "duration", "1.5s"), "");
  EXPECT_EQ(set(every, "texts", "a"), "");
  EXPECT_EQ(set(every, "texts", "b"), "");
  EXPECT_EQ(set(every, "map", "k=v=w"), "");
  EXPECT_EQ(every.small, 7);
  EXPECT_EQ(every.bytes, 2U << 20U);
  EXPECT_EQ(every.millicpus, 250U);
  EXPECT_EQ(every.word, WorkspaceMode::Overlay);
  EXPECT_EQ(every.duration, 1500ms);
  EXPECT_THAT(every.texts, testing::ElementsAre("a", "b"));
  EXPECT_EQ(every.map.at("k"), "v=w");
}

TEST(TextForm, RefusesWhatTheMemberCannotHold) {
  EveryType every;
  EXPECT_NE(set(every, "small", "70000"), "");
  EXPECT_NE(set(every, "small", "-1"), "");
  EXPECT_NE(set(every, "small", "1.5"), "");
  EXPECT_NE(set(every, "cpus", "nan"), "");
  EXPECT_THAT(set(every, "word", "magic"), HasSubstr("auto, overlay or copy"));
  EXPECT_NE(set(every, "map", "novalue"), "");
}

TEST(TextForm, BoundsAreCheckedWithTheFieldsOwnWords) {
  EveryType every;
  every.small = 10;
  EXPECT_THAT(check_bounds(every).error().message,
              HasSubstr("small 10 is out of range: give 0 to 9"));
  every.small = 9;
  every.text = std::string(101, 'x');
  EXPECT_THAT(check_bounds(every).error().message, HasSubstr("text has more than 100 bytes"));
  every.text = std::string("a\0b", 3);
  EXPECT_THAT(check_bounds(every).error().message, HasSubstr("NUL"));
}

TEST(TextForm, SettingsHaveNoUnitInTheirNames) {
  EXPECT_EQ(setting_name({.name = "memory_bytes"}), "memory");
  EXPECT_EQ(setting_name({.name = "ttl_ms"}), "ttl");
  EXPECT_EQ(setting_name({.name = "processes"}), "processes");
}

TEST(ProtoForm, FillsInTheFieldsOfNouns) {
  const auto proto = fill_proto("message Limits {\n  @Limits@\n}\n");
  ASSERT_TRUE(proto);
  EXPECT_THAT(*proto, HasSubstr("  optional int64 memory_bytes = 1;\n"));
  EXPECT_THAT(*proto, HasSubstr("  optional double cpus = 2;\n"));
  EXPECT_FALSE(fill_proto("  @Nothing@\n"));
}

}  // namespace
}  // namespace nutshell
