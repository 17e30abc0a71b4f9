#include "egress/first_bytes.h"

#include <gtest/gtest.h>

namespace nutshell::egress {
namespace {

using Kind = FirstBytes::Kind;

std::string number(std::size_t value, std::size_t width) {
  std::string bytes;
  for (std::size_t index = width; index-- > 0;)
    bytes += static_cast<char>(value >> (8 * index));
  return bytes;
}

std::string field(const std::string& content, std::size_t width) {
  return number(content.size(), width) + content;
}

std::string extension(std::size_t type, const std::string& content) {
  return number(type, 2) + field(content, 2);
}

std::string server_name(const std::string& name) {
  return extension(0, field(number(0, 1) + field(name, 2), 2));
}

std::string hello(const std::string& extensions) {
  const std::string body = number(0x0303, 2) + std::string(32, 'r') + field("session", 1) +
                           field("\x13\x01", 2) + field(std::string(1, '\0'), 1) +
                           field(extensions, 2);
  return number(1, 1) + field(body, 3);
}

std::string record(const std::string& content) {
  return number(22, 1) + "\x03\x01" + field(content, 2);
}

TEST(FirstBytes, ReadTheServersNameOfTls) {
  const std::string bytes = record(hello(extension(10, "xx") + server_name("pypi.org")));
  EXPECT_EQ(read_first_bytes(bytes), (FirstBytes{.kind = Kind::Tls, .name = "pypi.org"}));
  EXPECT_EQ(read_first_bytes(bytes + "more").kind, Kind::Tls);
  for (std::size_t count = 0; count < bytes.size(); ++count)
    EXPECT_EQ(read_first_bytes(bytes.substr(0, count)).kind, Kind::Incomplete) << count;
}

TEST(FirstBytes, ReadAHelloInSeveralRecords) {
  const std::string whole = hello(server_name("pypi.org"));
  std::string bytes;
  for (const char byte : whole)
    bytes += record(std::string(1, byte));
  EXPECT_EQ(read_first_bytes(bytes).name, "pypi.org");
  EXPECT_EQ(read_first_bytes(bytes.substr(0, bytes.size() - 1)).kind, Kind::Incomplete);
}

TEST(FirstBytes, TellThatTheNameIsMissingOrEncrypted) {
  EXPECT_EQ(read_first_bytes(record(hello(""))), (FirstBytes{.kind = Kind::Tls, .name = ""}));
  const auto found = read_first_bytes(record(hello(server_name("a.b") + extension(0xfe0d, "x"))));
  EXPECT_TRUE(found.has_encrypted_name);
  EXPECT_EQ(found.name, "a.b");
}

TEST(FirstBytes, RefuseAHelloWithTwoMeanings) {
  const std::string two_entries =
      extension(0, field(number(0, 1) + field("a.b", 2) + number(0, 1) + field("c.d", 2), 2));
  for (const std::string& extensions :
       {server_name("a.b") + server_name("c.d"), two_entries, extension(0, ""),
        extension(0, field(number(1, 1) + field("a.b", 2), 2)), server_name(""),
        server_name("a.b") + "\1", extension(0, field(number(0, 1) + field("a.b", 2), 2) + "x")}) {
    EXPECT_EQ(read_first_bytes(record(hello(extensions))).kind, Kind::Malformed);
  }
  EXPECT_EQ(read_first_bytes(record("\2xxxx")).kind, Kind::Malformed);
  EXPECT_EQ(read_first_bytes(std::string("\x16\x02\x01\0\1\1", 6)).kind, Kind::Malformed);
  EXPECT_EQ(read_first_bytes(std::string("\x16\x03\x01\0\0", 5)).kind, Kind::Malformed);
  EXPECT_EQ(read_first_bytes(record("\1" + number(1U << 20U, 3))).kind, Kind::Malformed);
}

TEST(FirstBytes, ReadTheHostOfHttp) {
  const std::string bytes = "GET /x HTTP/1.1\r\nAccept: */*\r\nhOsT:  a.example:8080 \r\n\r\n";
  EXPECT_EQ(read_first_bytes(bytes), (FirstBytes{.kind = Kind::Http, .name = "a.example"}));
  for (std::size_t count = 0; count < bytes.size(); ++count)
    EXPECT_EQ(read_first_bytes(bytes.substr(0, count)).kind, Kind::Incomplete) << count;
  EXPECT_EQ(read_first_bytes("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n").name,
            "a.example");
}

TEST(FirstBytes, RefuseHttpThatNamesNoOrTwoHosts) {
  for (const std::string_view bytes :
       {"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\r\nnonsense\r\nHost: a\r\n\r\n"}) {
    EXPECT_EQ(read_first_bytes(bytes).kind, Kind::Malformed) << bytes;
  }
  EXPECT_EQ(read_first_bytes("GET /" + std::string(kMostFirstBytes, 'a')).kind, Kind::Malformed);
}

TEST(FirstBytes, KnowOtherProtocolsAtOnce) {
  for (const std::string_view bytes :
       {std::string_view("SSH-2.0-OpenSSH"), std::string_view("\0\0\0\x8", 4),
        std::string_view("*1\r\n$4\r\nPING\r\n"), std::string_view("PING\r\n"),
        std::string_view("get / http"), std::string_view(" GET /"),
        std::string_view("HELO there\r\n")}) {
    EXPECT_EQ(read_first_bytes(bytes).kind, Kind::Other) << bytes;
  }
}

}  // namespace
}  // namespace nutshell::egress
