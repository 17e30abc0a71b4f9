#include "egress/host_name.h"

#include <gtest/gtest.h>

namespace nutshell::egress {
namespace {

TEST(CanonicalName, IsOneForAllFormsOfAName) {
  EXPECT_EQ(canonical_name("Example.ORG."), "example.org");
  EXPECT_EQ(canonical_name("example.org"), "example.org");
  EXPECT_EQ(canonical_name("xn--bcher-kva.example"), "xn--bcher-kva.example");
  EXPECT_EQ(canonical_name("_dmarc.example.org"), "_dmarc.example.org");
  EXPECT_EQ(canonical_name("3com.com"), "3com.com");
  EXPECT_EQ(canonical_name("db"), "db");
}

TEST(CanonicalName, IsNoneForWhatDnsDoesNotHave) {
  const std::string long_label(64, 'a');
  const std::string long_name = std::string(250, 'a') + ".org";
  for (const std::string& text : {std::string(),
                                  std::string("."),
                                  std::string(".."),
                                  std::string("a..b"),
                                  std::string(".a"),
                                  std::string("a.."),
                                  std::string("-a.org"),
                                  std::string("a-.org"),
                                  std::string("a b.org"),
                                  std::string("b\xc3\xbc"
                                              "cher.example"),
                                  std::string("a/b"),
                                  std::string("user@host"),
                                  std::string("evil\0.example.org", 17),
                                  std::string("a:b"),
                                  std::string("*.a.org"),
                                  std::string("127.1"),
                                  std::string("1.2.3.4"),
                                  std::string("0x7f.1"),
                                  std::string("0x7f000001"),
                                  std::string("2130706433"),
                                  long_label + ".org",
                                  long_name}) {
    EXPECT_EQ(canonical_name(text), std::nullopt) << text;
  }
}

TEST(IsBelow, NeedsAWholeLabel) {
  EXPECT_TRUE(is_below("a.example.org", "example.org"));
  EXPECT_TRUE(is_below("a.b.example.org", "example.org"));
  EXPECT_FALSE(is_below("example.org", "example.org"));
  EXPECT_FALSE(is_below("evilexample.org", "example.org"));
  EXPECT_FALSE(is_below(".example.org", "example.org"));
  EXPECT_FALSE(is_below("example.org.evil.com", "example.org"));
}

}  // namespace
}  // namespace nutshell::egress
