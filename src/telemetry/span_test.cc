#include "telemetry/span.h"

#include <gtest/gtest.h>

#include <thread>

namespace nutshell::telemetry {
namespace {

constexpr const char* kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class Kept : public SpanSink {
 public:
  void take(Span span) override { spans.push_back(std::move(span)); }
  std::vector<Span> spans;
};

TEST(TraceContext, ReadsWhatItWrites) {
  const auto context = TraceContext::parse(kParent);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->text(), kParent);
  EXPECT_TRUE(TraceContext::parse(TraceContext::fresh().text()));
}

TEST(TraceContext, RefusesMalformedHeaders) {
  const std::string good = kParent;
  EXPECT_FALSE(TraceContext::parse(""));
  EXPECT_FALSE(TraceContext::parse(good.substr(0, 54)));
  EXPECT_FALSE(TraceContext::parse(good + "-x"));            // version 0 has no more
  EXPECT_FALSE(TraceContext::parse("ff" + good.substr(2)));  // a version that is forbidden
  EXPECT_TRUE(TraceContext::parse("01" + good.substr(2) + "-more"));
  std::string capital = good;
  capital[4] = 'A';
  EXPECT_FALSE(TraceContext::parse(capital));
  EXPECT_FALSE(TraceContext::parse("00-" + std::string(32, '0') + good.substr(35)));
}

TEST(Activity, GoesOnWithTheCallersTrace) {
  Kept kept;
  {
    Activity activity(&kept, kParent, "request");
    EXPECT_EQ(active().sink, &kept);
    EXPECT_EQ(active().place.trace, TraceContext::parse(kParent)->trace);
  }
  EXPECT_EQ(active().sink, nullptr);
  ASSERT_EQ(kept.spans.size(), 1U);
  EXPECT_EQ(kept.spans[0].parent, TraceContext::parse(kParent)->span);
}

TEST(ActiveScope, IsAPartOfAnotherThreadsRequest) {
  Kept kept;
  const Activity activity(&kept, kParent, "request");
  const Active work = active();
  std::thread([&] {
    EXPECT_EQ(active().sink, nullptr);
    {
      const ActiveScope part(work);
      EXPECT_EQ(active().place.span, work.place.span);
    }
    EXPECT_EQ(active().sink, nullptr);
  }).join();
}

TEST(Activity, SaysNothingWhereTheCallerWantsNothing) {
  Kept kept;
  std::string unsampled = kParent;
  unsampled.back() = '0';
  { const Activity activity(&kept, unsampled, "request"); }
  { const Activity activity(nullptr, kParent, "request"); }
  EXPECT_TRUE(kept.spans.empty());
}

}  // namespace
}  // namespace nutshell::telemetry
