#include "egress/event_log.h"

#include <gmock/gmock.h>

namespace nutshell::egress {
namespace {

NetworkEvent refusal(std::string host, std::string rule) {
  NetworkEvent event;
  event.kind = NetworkEventKind::Refused;
  event.host = std::move(host);
  event.rule = std::move(rule);
  return event;
}

std::string rule_told_for(const std::string& rule) {
  EventLog log;
  log.add(refusal("host", rule));
  return log.after(0).front().rule;
}

TEST(EventLog, NumbersEventsFromOne) {
  EventLog log;
  log.add(refusal("a.test", "a.test:443"));
  log.add(refusal("b.test", "b.test:443"));
  const auto events = log.after(1);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events.front().number, 2U);
  EXPECT_EQ(events.front().host, "b.test");
  EXPECT_GT(events.front().time_us, 0);
}

TEST(EventLog, CountsRefusalsThatRepeat) {
  EventLog log;
  for (int i = 0; i < 3; ++i)
    log.add(refusal("a.test", "a.test:443"));
  const auto events = log.after(0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events.front().count, 3U);
  EXPECT_EQ(events.front().number, 3U);
  EXPECT_EQ(log.refused(), 3U);
}

TEST(EventLog, ForgetsTheOldestBeyondItsBound) {
  EventLog log;
  for (std::size_t i = 0; i < EventLog::kMostEvents + 5; ++i)
    log.add(refusal(std::to_string(i), {}));
  const auto events = log.after(0);
  EXPECT_EQ(events.size(), EventLog::kMostEvents);
  EXPECT_EQ(events.front().host, "5");
  EXPECT_EQ(log.refused(), EventLog::kMostEvents + 5);
}

TEST(EventLog, BoundsTextsOfASandbox) {
  EventLog log;
  NetworkEvent event = refusal(std::string(100'000, 'h'), {});
  event.path = std::string(100'000, 'p');
  event.reason = std::string(100'000, 'r');
  event.method = std::string(100'000, 'm');
  log.add(event);
  const NetworkEvent kept = log.after(0).front();
  for (const std::string& text : {kept.host, kept.path, kept.reason, kept.method}) {
    EXPECT_EQ(text.size(), 1024U);
    EXPECT_THAT(text, testing::EndsWith("..."));
  }
}

TEST(EventLog, KeepsRulesThatAllowWhatWasRefused) {
  for (const std::string rule : {"a.test", "a.test:443", "[2001:db8::1]:443", "192.0.2.7:80",
                                 "GET https://a.test/path?x=1", "localhost:80"})
    EXPECT_EQ(rule_told_for(rule), rule);
}

TEST(EventLog, DropsRulesThatWouldAllowMore) {
  for (const std::string rule :
       {"*", "*.com", "a.*:443", "pypi", "0.0.0.0/0", "::/0", "GET https://a.test/*",
        "GET https://*.test/", "a.test\n--allow b.test", "a b.test", "\xff.test"})
    EXPECT_EQ(rule_told_for(rule), "") << rule;
  EXPECT_EQ(rule_told_for("a.test/" + std::string(5000, 'x')), "");
}

}  // namespace
}  // namespace nutshell::egress
