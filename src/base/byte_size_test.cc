#include "base/byte_size.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

using std::chrono::milliseconds;

TEST(ByteSize, ReadsUnitsAndFractions) {
  EXPECT_EQ(*parse_byte_size("512m"), 512ULL << 20U);
  EXPECT_EQ(*parse_byte_size("1.5g"), 1536ULL << 20U);
  EXPECT_EQ(*parse_byte_size("64KiB"), 64ULL << 10U);
  EXPECT_EQ(*parse_byte_size("7"), 7U);
}

TEST(ByteSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "-1", "m", "1x", "1mm", "1e9", "0x10", "99999999999999t", " 1", "+1",
                           "1 m", "nan", "inf"}) {
    EXPECT_FALSE(parse_byte_size(text)) << text;
  }
}

TEST(Duration, ReadsUnitsAndDefaultsToSeconds) {
  EXPECT_EQ(*parse_duration("30s"), milliseconds(30'000));
  EXPECT_EQ(*parse_duration("500ms"), milliseconds(500));
  EXPECT_EQ(*parse_duration("1.5m"), milliseconds(90'000));
  EXPECT_EQ(*parse_duration("2"), milliseconds(2000));
}

TEST(Duration, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "-1s", "s", "1y", "99999999999999999999d", "1s1"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Duration, IsPrintedInTheLargestWholeUnit) {
  EXPECT_EQ(format_duration(milliseconds(300'000)), "300s");
  EXPECT_EQ(format_duration(milliseconds(1500)), "1500ms");
  EXPECT_EQ(format_duration(milliseconds(7'200'000)), "2h");
}

}  // namespace
}  // namespace nutshell
