#include "telemetry/exporter.h"

#include <gtest/gtest.h>

namespace nutshell::telemetry {
namespace {

using std::chrono::milliseconds;

TEST(CollectorUrl, IsCutToPieces) {
  const auto plain = parse_collector_url("http://127.0.0.1:4318");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "127.0.0.1");
  EXPECT_EQ(plain->path, "/v1/traces");
  const auto whole = parse_collector_url("https://[::1]:9/own/path");
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->is_https);
  EXPECT_EQ(whole->host, "::1");
  EXPECT_EQ(whole->port, 9);
  EXPECT_EQ(whole->path, "/own/path");
}

TEST(CollectorUrl, RefusesNonsense) {
  for (const char* text : {"", "collector", "ftp://a", "http://", "http://a:b", "http://a:0",
                           "http://user@host", "http://:1"}) {
    EXPECT_FALSE(parse_collector_url(text)) << text;
  }
}

// Port 1 has no listener.
TEST(Exporter, DropsAndCountsUndeliverableSpans) {
  Exporter::Options options;
  options.url = {false, "127.0.0.1", 1, "/v1/traces"};
  options.most_waiting = 10;
  options.interval = milliseconds(1);
  options.longest_pause = milliseconds(1);
  Exporter exporter(std::move(options));
  const auto begin = Clock::now();
  for (int i = 0; i < 1000; ++i)
    exporter.take({});
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));  // nobody waited for the collector
  const Deadline patience = Deadline::in(std::chrono::seconds(20));
  while (exporter.figures().waiting > 0 && !patience.has_passed())
    std::this_thread::sleep_for(milliseconds(1));
  while (exporter.figures().dropped < 1000 && !patience.has_passed())
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(exporter.figures().dropped, 1000U);
  EXPECT_EQ(exporter.figures().sent, 0U);
}

TEST(OtlpJson, ReplacesWhatIsNoUtf8) {
  Span span;
  span.name = "a\xff";
  span.attributes = {{"n", std::int64_t{1} << 60U}};
  const std::string text = otlp_json({span}, "test");
  EXPECT_NE(text.find("\"intValue\":\"1152921504606846976\""), text.npos) << text;
  EXPECT_EQ(text.find('\xff'), text.npos);
  EXPECT_EQ(text.find("parentSpanId"), text.npos);
}

}  // namespace
}  // namespace nutshell::telemetry
