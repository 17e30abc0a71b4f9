#include "server/mcp/http_guard.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"

namespace nutshell::mcp {
namespace {

bool is_served(const std::string& host, const std::string& origin = "") {
  http::Headers headers{{"Host", host}};
  if (!origin.empty()) headers.add("Origin", origin);
  const AllowedNames allowed{{"sandbox.example.com"}, {"https://app.example.com"}};
  return !check_names(headers, allowed);
}

TEST(CheckNames, ServesThisMachineAndWhatIsAllowed) {
  for (const char* host : {"localhost", "localhost:80", "LOCALHOST:7", "127.0.0.1:65535", "[::1]",
                           "[::1]:8080", "sandbox.example.com", "sandbox.example.com:443"})
    EXPECT_TRUE(is_served(host)) << host;
  for (const char* origin :
       {"http://localhost", "http://127.0.0.1:3000", "https://[::1]:1", "https://app.example.com"})
    EXPECT_TRUE(is_served("localhost", origin)) << origin;
}

TEST(CheckNames, RefusesEveryOtherName) {
  for (const char* host :
       {"", "evil.example.com", "localhost.evil.com", "127.0.0.1.evil.com", "evil.com:80",
        "localhost:80@evil.com", "127.0.0.2", "[::1", "[::1]evil.com", "0.0.0.0", "127.1",
        "localhost:abc", "xsandbox.example.com", "sandbox.example.com.evil.com"})
    EXPECT_FALSE(is_served(host)) << host;
  for (const char* origin :
       {"null", "http://evil.com", "https://app.example.com.evil.com", "file://localhost",
        "http://localhost.evil.com", "http://localhost@evil.com", "https://app.example.com:444",
        "http://app.example.com", "localhost"})
    EXPECT_FALSE(is_served("localhost", origin)) << origin;
}

TEST(CheckNames, RefusesTwoOfAHeader) {
  EXPECT_TRUE(check_names({{"Host", "localhost"}, {"Host", "evil.com"}}, {}));
  EXPECT_TRUE(check_names(
      {{"Host", "localhost"}, {"Origin", "http://localhost"}, {"Origin", "http://evil.com"}}, {}));
}

TEST(HeaderValue, IsDecodedOnlyInItsWrapper) {
  EXPECT_EQ(header_value("plain"), "plain");
  EXPECT_EQ(header_value("=?base64?SGVsbG8=?="), "Hello");
  EXPECT_EQ(header_value("=?base64?SGVsbG8="), "=?base64?SGVsbG8=");
  EXPECT_EQ(header_value("=?base64?SGVsbG8?="), std::nullopt);
  EXPECT_EQ(header_value("=?base64?SGVs!!!bG8=?="), std::nullopt);
  EXPECT_EQ(header_value("=?base64?=?="), std::nullopt);
}

TEST(Base64, GoesThereAndBack) {
  std::string bytes;
  for (int length = 0; length < 70; ++length) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    bytes += static_cast<char>(length * 37);
  }
  for (const char* text : {"A", "AA", "AAA", "A===", "AA=A", "AB==", "AAB=", "AA A"})
    EXPECT_FALSE(from_base64(text)) << text;
}

struct CheckHeaders : testing::Test {
  static Message message(const std::string& method, Json params) {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
    const Json body = {{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}};
    return std::move(read_messages(body.dump()).messages.front());
  }
  static int code(const http::Headers& headers, const Message& message) {
    const auto wrong = check_headers(headers, message, {{"sandbox", "Sandbox"}, {"n", "N"}});
    return wrong ? wrong->code : 0;
  }
};

TEST_F(CheckHeaders, TakesHeadersThatSayWhatTheBodySays) {
  const auto call = message("tools/call", {{"name", "read"}, {"arguments", {{"sandbox", "ab"}}}});
  EXPECT_EQ(code({{"mcp-protocol-version", "2026-07-28"},
                  {"MCP-METHOD", "tools/call"},
                  {"Mcp-Name", "=?base64?cmVhZA==?="},
                  {"Mcp-Param-Sandbox", "ab"}},
                 call),
            0);
  const auto number = message("tools/call", {{"name", "read"}, {"arguments", {{"n", 10}}}});
  EXPECT_EQ(code({{"MCP-Protocol-Version", "2026-07-28"},
                  {"Mcp-Method", "tools/call"},
                  {"Mcp-Name", "read"},
                  {"Mcp-Param-N", "10.0"}},
                 number),
            0);
}

TEST_F(CheckHeaders, RefusesHeadersThatSaySomethingElse) {
  const auto call = message("tools/call", {{"name", "read"}, {"arguments", {{"sandbox", "ab"}}}});
  const http::Header version{"MCP-Protocol-Version", "2026-07-28"};
  const http::Header method{"Mcp-Method", "tools/call"};
  const http::Header name{"Mcp-Name", "read"};
  const http::Header sandbox{"Mcp-Param-Sandbox", "ab"};
  EXPECT_EQ(code({version, method, name, sandbox}, call), 0);
  EXPECT_EQ(code({method, name, sandbox}, call), kHeaderMismatch);
  EXPECT_EQ(code({version, name, sandbox}, call), kHeaderMismatch);
  EXPECT_EQ(code({version, method, sandbox}, call), kHeaderMismatch);
  EXPECT_EQ(code({version, method, name}, call), kHeaderMismatch);
  EXPECT_EQ(code({version, method, name, sandbox, name}, call), kHeaderMismatch);
  EXPECT_EQ(code({version, {"Mcp-Method", "TOOLS/CALL"}, name, sandbox}, call), kHeaderMismatch);
  EXPECT_EQ(code({version, method, {"Mcp-Name", "write"}, sandbox}, call), kHeaderMismatch);
  EXPECT_EQ(code({version, method, name, {"Mcp-Param-Sandbox", "cd"}}, call), kHeaderMismatch);
  EXPECT_EQ(code({{"MCP-Protocol-Version", "2025-11-25"}, method, name, sandbox}, call),
            kHeaderMismatch);
  const auto bare = message("tools/call", {{"name", "read"}, {"arguments", Json::object()}});
  EXPECT_EQ(code({version, method, name, sandbox}, bare), kHeaderMismatch);
}

}  // namespace
}  // namespace nutshell::mcp
