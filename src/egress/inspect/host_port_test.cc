#include "egress/inspect/host_port.h"

#include <gtest/gtest.h>

namespace nutshell::egress {
namespace {

TEST(HostPort, HasOneForm) {
  EXPECT_EQ(parse_host_port("Example.ORG", 80), (HostPort{"example.org", 80}));
  EXPECT_EQ(parse_host_port("example.org.:8080", 80), (HostPort{"example.org", 8080}));
  EXPECT_EQ(parse_host_port("[2001:DB8:0::1]:443", 80), (HostPort{"2001:db8::1", 443}));
  EXPECT_EQ(parse_host_port("[::1]", 80), (HostPort{"::1", 80}));
  EXPECT_EQ(parse_host_port("127.0.0.1:1", 80), (HostPort{"127.0.0.1", 1}));
  EXPECT_EQ(parse_host_port("xn--bcher-kva.example", 443),
            (HostPort{"xn--bcher-kva.example", 443}));
  EXPECT_EQ(parse_host_port("a_b.example", 443), (HostPort{"a_b.example", 443}));
}

TEST(HostPort, RefusesEveryOtherForm) {
  for (const std::string& text : {std::string(),
                                  std::string("a.test\0.evil.test", 17),
                                  std::string("user@a.test"),
                                  std::string("a.test:80@evil.test"),
                                  std::string("a.test:"),
                                  std::string("a.test:0"),
                                  std::string("a.test:65536"),
                                  std::string("a.test:+80"),
                                  std::string("a.test:80:80"),
                                  std::string("a..test"),
                                  std::string(".a.test"),
                                  std::string("a.test.."),
                                  std::string("."),
                                  std::string("a.test/b"),
                                  std::string("a test"),
                                  std::string("a%2etest"),
                                  std::string("b\xc3\xbc.test"),
                                  std::string("127.1"),
                                  std::string("2130706433"),
                                  std::string("0x7f000001"),
                                  std::string("0X7F.1"),
                                  std::string("127.0.0.01"),
                                  std::string("1.2.3.4.5"),
                                  std::string("[::1"),
                                  std::string("[::1]80"),
                                  std::string("::1"),
                                  std::string("[fe80::1%eth0]"),
                                  std::string("[a.test]"),
                                  std::string("[]"),
                                  std::string(64, 'a') + ".test",
                                  std::string(254, 'a')}) {
    EXPECT_FALSE(parse_host_port(text, 80)) << text;
  }
}

}  // namespace
}  // namespace nutshell::egress
