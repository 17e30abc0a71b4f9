#include "http/message.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "http/websocket.h"

namespace nutshell::http {
namespace {

TEST(Target, IsCutBeforeItIsDecoded) {
  const auto target = parse_target("/v1/files/a%2Fb%20c?path=%2Ftmp%2Fx+y&flag&=&z=1=2");
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->segments, (std::vector<std::string>{"v1", "files", "a/b c"}));
  EXPECT_EQ(*target->parameter("path"), "/tmp/x y");
  EXPECT_EQ(*target->parameter("flag"), "");
  EXPECT_EQ(*target->parameter("z"), "1=2");
  EXPECT_EQ(target->parameter("nothing"), nullptr);
}

TEST(Target, RefusesWhatIsNoPlainPath) {
  for (const char* text :
       {"", "x", "http://h/", "*", "/a%", "/a%2", "/%zz", "/%00", "/..", "/a/%2E%2e", "/a?x=%0"}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
}

TEST(Target, EncodedTextIsOneSegment) {
  std::string every;
  for (int i = 1; i < 256; ++i)
    every += static_cast<char>(i);
  const auto target = parse_target("/" + percent_encode(every) + "?q=" + percent_encode(every));
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->segments, std::vector<std::string>{every});
  EXPECT_EQ(*target->parameter("q"), every);
}

TEST(Headers, AreFoundInAnyCase) {
  const Headers headers{{"Connection", "keep-alive, Upgrade"}, {"X-One", "1"}, {"x-one", "2"}};
  EXPECT_EQ(headers.get("x-ONE"), "1");
  EXPECT_EQ(headers.count("X-one"), 2U);
  EXPECT_TRUE(headers.has_word("connection", "upgrade"));
  EXPECT_FALSE(headers.has_word("connection", "grade"));
}

TEST(WebSocketHandshake, AnswersAsTheStandardSays) {
  EXPECT_EQ(websocket_accept_of("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(new_websocket_key().size(), 24U);
}

TEST(Utf8, IsToldFromOtherBytes) {
  for (const char* good : {"", "a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\x9a", "\xef\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\x80", "\xc0\xaf", "\xc1\x81", "\xe0\x80\xaf", "\xed\xa0\x80",
                          "\xf4\x90\x80\x80", "\xff", "\xe2\x82", "a\xc3"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

}  // namespace
}  // namespace nutshell::http
