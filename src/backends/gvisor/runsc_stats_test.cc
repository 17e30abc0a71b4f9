#include "backends/gvisor/runsc_stats.h"

#include <gtest/gtest.h>

namespace nutshell::gvisor {
namespace {

using namespace std::chrono_literals;

TEST(RunscStats, AreTakenFromWhatItPrints) {
  const auto stats = read_stats(
      R"({"type":"stats","id":"886c6c852232","data":{"cpu":{"usage":{"total":210468273}},)"
      R"("memory":{"usage":{"limit":0,"usage":5926912}},"pids":{"current":2}}})"
      "\n");
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_EQ(stats->memory_bytes, 5926912U);
  EXPECT_EQ(stats->cpu_time, 210468us);
  EXPECT_EQ(stats->processes, 2U);
  EXPECT_FALSE(stats->peak_memory_bytes || stats->read_bytes || stats->written_bytes);
}

TEST(RunscStats, AreLeftOutWhereNothingIsCounted) {
  for (const char* text :
       {R"({"data":{}})", R"({"data":{"memory":{"usage":{"usage":0}},"pids":{"current":-1}}})",
        R"({"data":{"memory":7,"cpu":{"usage":[]},"pids":{"current":"2"}}})", R"({"data":null})"}) {
    const auto stats = read_stats(text);
    ASSERT_TRUE(stats) << text;
    EXPECT_FALSE(stats->memory_bytes || stats->cpu_time || stats->processes) << text;
  }
}

TEST(RunscStats, AreRefusedWhereTheyAreNone) {
  for (const char* text : {"", "{", "null", "[]", R"({"type":"stats"})", "\xff\xfe"})
    EXPECT_FALSE(read_stats(text)) << text;
}

}  // namespace
}  // namespace nutshell::gvisor
