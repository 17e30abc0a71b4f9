#include "egress/address.h"

#include <gtest/gtest.h>

namespace nutshell::egress {
namespace {

Address address(std::string_view text) {
  const auto parsed = Address::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Address());
}

TEST(Address, IsTheSameInBothFormsOfIpv4) {
  EXPECT_EQ(address("::ffff:192.0.2.1"), address("192.0.2.1"));
  EXPECT_EQ(address("::ffff:c000:201").text(), "192.0.2.1");
  EXPECT_EQ(*Address::of_bytes(std::string("\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1", 16)),
            address("127.0.0.1"));
  EXPECT_NE(address("::192.0.2.1"), address("192.0.2.1"));
}

TEST(Address, RefusesWhatOnlySomeParsersTakeForOne) {
  for (const std::string_view text :
       {"", "1", "127.1", "0x7f.0.0.1", "0177.0.0.1", "1.2.3.4.5", "1.2.3.256", " 1.2.3.4",
        "1.2.3.4 ", "[::1]", "::1%lo", "2130706433", ":::"}) {
    EXPECT_FALSE(Address::parse(text)) << text;
  }
  EXPECT_FALSE(Address::parse(std::string_view("1.2.3.4\0.evil", 13)));
  EXPECT_FALSE(Address::of_bytes("12345"));
  EXPECT_FALSE(Address::of_bytes(""));
}

TEST(AddressRange, ContainsWhatSharesItsBits) {
  const auto range = AddressRange::parse("10.1.0.0/16");
  ASSERT_TRUE(range);
  EXPECT_TRUE(range->contains(address("10.1.255.1")));
  EXPECT_TRUE(range->contains(address("::ffff:10.1.2.3")));
  EXPECT_FALSE(range->contains(address("10.2.0.0")));
  EXPECT_FALSE(range->contains(address("::a01:1")));
  const auto odd = AddressRange::parse("2001:db8:8000::/33");
  ASSERT_TRUE(odd);
  EXPECT_TRUE(odd->contains(address("2001:db8:ffff::1")));
  EXPECT_FALSE(odd->contains(address("2001:db8:7fff::1")));
  EXPECT_TRUE(AddressRange::parse("0.0.0.0/0")->contains(address("8.8.8.8")));
  EXPECT_FALSE(AddressRange::parse("0.0.0.0/0")->contains(address("2001:4860::1")));
  EXPECT_EQ(AddressRange::parse("192.0.2.1")->text(), "192.0.2.1");
  EXPECT_EQ(range->text(), "10.1.0.0/16");
}

TEST(AddressRange, RefusesAnAddressInsideItself) {
  const auto range = AddressRange::parse("10.1.2.3/16");
  ASSERT_FALSE(range);
  EXPECT_NE(range.error().message.find("did you mean 10.1.0.0/16"), std::string::npos)
      << range.error().message;
  for (const std::string_view text :
       {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "::/129", "10/8", "/8", "x/8"}) {
    EXPECT_FALSE(AddressRange::parse(text)) << text;
  }
}

TEST(SpecialKind, IsNamedInEveryForm) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"127.0.0.1", "loopback"},
      {"127.255.0.9", "loopback"},
      {"::1", "loopback"},
      {"::ffff:127.0.0.1", "loopback"},
      {"0.0.0.0", "reserved"},
      {"::", "reserved"},
      {"10.0.0.1", "private"},
      {"172.16.0.1", "private"},
      {"172.31.255.255", "private"},
      {"192.168.1.1", "private"},
      {"100.100.100.200", "private"},
      {"169.254.169.254", "link-local"},
      {"fe80::1", "link-local"},
      {"fd00:ec2::254", "private"},
      {"168.63.129.16", "metadata"},
      {"224.0.0.1", "multicast"},
      {"ff02::1", "multicast"},
      {"255.255.255.255", "reserved"},
      {"64:ff9b::7f00:1", "loopback"},
      {"64:ff9b::a9fe:a9fe", "link-local"},
      {"64:ff9b:1::1", "private"},
      {"2002:7f00:1::", "loopback"},
      {"2002:a00:1::1", "private"},
      {"::ffff:0:127.0.0.1", "loopback"},
      {"::127.0.0.1", "reserved"},
      {"2001:0:1::1", "reserved"},  // Teredo
      {"4000::1", "reserved"},
  };
  for (const auto& [text, kind] : cases)
    EXPECT_EQ(special_kind(address(text)), kind) << text;
  for (const std::string_view text : {"8.8.8.8", "151.101.0.223", "172.32.0.1", "2606:4700::1111",
                                      "64:ff9b::808:808", "2002:808:808::1"}) {
    EXPECT_EQ(special_kind(address(text)), "") << text;
  }
}

}  // namespace
}  // namespace nutshell::egress
