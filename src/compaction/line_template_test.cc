#include "compaction/line_template.h"

#include <gtest/gtest.h>

namespace nutshell::compaction {
namespace {

TEST(LineTemplate, NumbersDoNotMatter) {
  EXPECT_EQ(template_of("job 12 took 4ms"), template_of("job 7 took 12345ms"));
  EXPECT_EQ(template_of("id a3f9 ok"), template_of("id 77bc ok"));
  EXPECT_NE(template_of("job 12 took 4ms"), template_of("job 12 lost 4ms"));
  EXPECT_NE(template_of("a b"), template_of("ab"));
}

TEST(LineTemplate, PlacesMatter) {
  EXPECT_NE(template_of("at L.java:7"), template_of("at L.java:5"));
  EXPECT_NE(template_of("  2:9  error  x"), template_of("  4:9  error  x"));
  EXPECT_EQ(template_of("10:00:01 took 4"), template_of("11:22:33 took 5"));
  EXPECT_EQ(template_of("pid:17 left"), template_of("pid:18 left"));
  EXPECT_EQ(without_time("2:9 error x"), "2:9 error x");
}

TEST(LineTemplate, StatusOfAnAnswerMatters) {
  EXPECT_NE(template_of("\"GET /a HTTP/1.1\" 200 12"), template_of("\"GET /a HTTP/1.1\" 503 12"));
  EXPECT_EQ(template_of("\"GET /a HTTP/1.1\" 200 12"), template_of("\"GET /a HTTP/1.1\" 200 99"));
  EXPECT_EQ(http_status("1.2.3.4 - - [x] \"GET /a HTTP/1.1\" 503 12 \"-\""), 503U);
  EXPECT_EQ(http_status("GET /a HTTP/1.1"), 0U);
}

TEST(LineTemplate, LogLinesAreKnownByTimeOrLevel) {
  EXPECT_TRUE(is_log_line("2026-01-02T03:04:05.123Z INFO x"));
  EXPECT_TRUE(is_log_line("Jan  2 03:04:05 host kernel: x"));
  EXPECT_TRUE(is_log_line("[INFO] x"));
  EXPECT_FALSE(is_log_line("src/a.cc:12:5: note: x"));
  EXPECT_FALSE(is_log_line("hello"));
}

TEST(LineTemplate, TimeIsTakenOff) {
  EXPECT_EQ(without_time("2026-01-02 03:04:05,123 ERROR x"), "ERROR x");
  EXPECT_EQ(without_time("12345"), "12345");
}

}  // namespace
}  // namespace nutshell::compaction
