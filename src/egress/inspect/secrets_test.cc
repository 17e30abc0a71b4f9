#include "egress/inspect/secrets.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "egress/inspect/secret_forms.h"
#include "egress/inspect/tls_gate_fixture.h"

namespace nutshell::egress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string kValue = "s3cr3t/\"+val";

std::string chunk(const std::string& bytes) {
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

class SecretsTest : public TlsGateTest {
 protected:
  SecretsTest() {
    secret_.applies = [](const std::string& host, std::uint16_t port) {
      return host == "a.test" && port == 443;
    };
  }

  // Records the request that the server got, and answers it with `answer`.
  void start(const std::string& answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
             const std::string& until = "\r\n\r\n") {
    settings_.secrets = {secret_};
    start_tls_server([this, answer, until](http::Transport& transport) {
      got_ = read_text(transport, until);
      send_text(transport, answer);
    });
  }

  [[nodiscard]] std::string get(const std::string& headers, const std::string& target = "/") const {
    return "GET " + target + " HTTP/1.1\r\nHost: a.test\r\n" + headers + "\r\n";
  }

  Secret secret_{"TOKEN", new_placeholder("TOKEN"), kValue, nullptr};
  std::string got_;
};

TEST_F(SecretsTest, GoIntoHeaders) {
  start();
  const std::string& name = secret_.placeholder;
  tls_answer_to(get("Authorization: Bearer " + name + "\r\nX-Api-Key: " + name +
                    "\r\nRange: bytes=0-3\r\n"
                    "Accept-Encoding: gzip\r\n"));
  EXPECT_THAT(got_, HasSubstr("\r\nAuthorization: Bearer " + kValue + "\r\n"));
  EXPECT_THAT(got_, HasSubstr("\r\nX-Api-Key: " + kValue + "\r\n"));
  EXPECT_THAT(got_, HasSubstr("\r\nAccept-Encoding: identity\r\n"));
  EXPECT_THAT(got_, Not(HasSubstr("Range")));
  EXPECT_THAT(guard_.notes, ElementsAre("the request got the secret TOKEN"));
}

TEST_F(SecretsTest, GoIntoBasicCredentials) {
  start();
  tls_answer_to(get("Authorization: basic " + to_base64("me:" + secret_.placeholder) + "\r\n"));
  EXPECT_THAT(got_, HasSubstr("\r\nAuthorization: Basic " + to_base64("me:" + kValue) + "\r\n"));
}

TEST_F(SecretsTest, GoIntoCredentialsOnly) {
  start();
  const std::string& name = secret_.placeholder;
  const std::string padded = "Authorization: " + std::string(65, 'x') + name;
  const std::string basic = "Authorization: Basic " + to_base64("\xff\xff:" + name);
  const std::string user = "Authorization: Basic " + to_base64("xx" + name + ":");
  for (const std::string& header :
       {"X-Other: " + name, "Cookie: a=" + name, "Origin: https://" + name, padded, basic, user,
        "Authorization: Bearer " + name + name, "Authorization: Bearer " + name + "x"}) {
    start();
    tls_answer_to(get(header + "\r\n"));
    EXPECT_THAT(got_, HasSubstr("\r\n" + header + "\r\n"));
    EXPECT_THAT(got_, Not(HasSubstr("s3cr3t")));
  }
  EXPECT_THAT(guard_.notes, testing::Each(HasSubstr("values go only into")));
  start();
  tls_answer_to(get("Authorization: Token token=\"" + name + "\"\r\n"));
  EXPECT_THAT(got_, HasSubstr("Token token=\"" + kValue + "\"\r\n"));
}

// Each value is put into the header as the sandbox sent it, so no answer tells one by the other.
TEST_F(SecretsTest, TwoSecretsInOneHeaderStayHidden) {
  Secret other{"OTHER", new_placeholder("OTHER"), "swordfish-0123456789", secret_.applies};
  const std::string both = secret_.placeholder + ":" + other.placeholder;
  start_tls_server([this](http::Transport& transport) {
    got_ = read_text(transport, "\r\n\r\n");
    const std::size_t at = got_.find("Basic ") + 6;
    const std::string sent = got_.substr(at, got_.find("\r\n", at) - at);
    send_text(transport,
              fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", sent.size(), sent));
  });
  settings_.secrets = {secret_, other};
  const std::string answer = tls_answer_to(get("Authorization: Basic " + to_base64(both) + "\r\n"));
  EXPECT_THAT(got_, HasSubstr(to_base64(kValue + ":" + other.value)));
  for (const std::string& value : {kValue, other.value}) {
    for (const std::string& form : forms_of(value))
      EXPECT_THAT(answer, Not(HasSubstr(form)));
  }
}

TEST_F(SecretsTest, AnswersOfOtherHostsAndNamesOfFieldsAreSearched) {
  start("HTTP/1.1 200 OK\r\nX-S3CR3T%2F%22%2bVAL: 1\r\nContent-Length: 12\r\n\r\nS3CR3T/\"+VAL");
  secret_.applies = [](const std::string&, std::uint16_t) { return false; };
  settings_.secrets = {secret_};
  const std::string answer = tls_answer_to(get(""));
  EXPECT_THAT(answer, HasSubstr("\r\nX-" + secret_.placeholder + ": 1\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\n" + secret_.placeholder + "\r\n"));
}

TEST_F(SecretsTest, GoIntoTheQueryOnlyOnRequest) {
  start();
  const std::string target = "/p/" + secret_.placeholder + "?key=" + secret_.placeholder;
  tls_answer_to(get("", target));
  EXPECT_THAT(got_, StartsWith("GET " + target + " HTTP"));
  secret_.is_in_query = true;
  settings_.secrets = {secret_};
  tls_answer_to(get("", target));
  EXPECT_THAT(got_, StartsWith("GET /p/" + secret_.placeholder + "?key=s3cr3t%2F%22%2Bval HTTP"));
}

TEST_F(SecretsTest, GoIntoTheBodyOnlyOnRequest) {
  const std::string body = "{\"key\": \"" + secret_.placeholder + "\"}";
  const std::string post = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/json\r\n";
  const std::string fixed = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  start("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "}");
  tls_answer_to(post + fixed);
  EXPECT_THAT(got_, HasSubstr("\r\n\r\n" + body));
  secret_.is_in_body = true;
  settings_.secrets = {secret_};
  tls_answer_to(post + fixed);
  EXPECT_THAT(got_, HasSubstr("Content-Length: 24\r\n\r\n{\"key\": \"s3cr3t/\\\"+val\"}"));
  tls_answer_to(post + "Transfer-Encoding: chunked\r\n\r\n" + chunk(body.substr(0, 20)) +
                chunk(body.substr(20)) + chunk(""));
  EXPECT_THAT(got_, HasSubstr("\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_THAT(got_, HasSubstr("s3cr3t/\\\"+val\"}\r\n"));
}

TEST_F(SecretsTest, StayAwayFromOtherHostsAndPlainHttp) {
  start();
  start_mirror();
  const std::string request = get("X-Api-Key: " + secret_.placeholder + "\r\n");
  EXPECT_THAT(answer_to(request), HasSubstr("X-Api-Key: " + secret_.placeholder));
  secret_.applies = [](const std::string&, std::uint16_t) { return false; };
  start();
  tls_answer_to(request);
  EXPECT_THAT(got_, HasSubstr("X-Api-Key: " + secret_.placeholder));
  EXPECT_THAT(guard_.notes,
              ElementsAre(HasSubstr("placeholder of TOKEN"), HasSubstr("placeholder of TOKEN")));
}

TEST_F(SecretsTest, AnswersGetThePlaceholderBack) {
  const std::string basic = to_base64("me:" + kValue);
  start("HTTP/1.1 200 Hello " + kValue + "\r\nX-Echo: " + kValue +
        "\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk("key=s3cr") + chunk("3t/\"+val") +
        chunk(", s3cr3t%2F%22%2Bval, s3cr3t/\\\"") + chunk("+val, " + basic.substr(0, 8)) +
        chunk(basic.substr(8)) + chunk(""));
  const std::string answer =
      tls_answer_to(get("Authorization: Basic " + to_base64("me:" + secret_.placeholder) + "\r\n"));
  const std::string& name = secret_.placeholder;
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 Hello " + name + "\r\nX-Echo: " + name + "\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("s3cr")));
  EXPECT_THAT(answer, Not(HasSubstr(basic)));
  EXPECT_THAT(answer, testing::EndsWith("\r\n0\r\n\r\n"));
}

TEST_F(SecretsTest, AnswersWithALengthAreFramedAnew) {
  start("HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n<" + kValue + ">");
  const std::string answer = tls_answer_to(get(""));
  EXPECT_THAT(answer, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(answer, HasSubstr(secret_.placeholder));
  EXPECT_THAT(answer, testing::EndsWith(">\r\n0\r\n\r\n"));
}

TEST_F(SecretsTest, CompressedAnswersAreRefused) {
  start("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd");
  EXPECT_THAT(tls_answer_to(get("")), StartsWith("HTTP/1.1 502"));
  start(
      "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Encoding: gzip\r\n"
      "Content-Length: 4\r\n\r\nabcd");
  EXPECT_THAT(tls_answer_to(get("")), StartsWith("HTTP/1.1 502"));
}

TEST(SecretValues, AreFitForHeadersAndSearch) {
  EXPECT_TRUE(check_secret_value("A", "ghp_0123456789"));
  EXPECT_FALSE(check_secret_value("A", "two\r\nlines"));
  EXPECT_FALSE(check_secret_value("A", "short"));
  EXPECT_NE(new_placeholder("A"), new_placeholder("A"));
  EXPECT_THAT(new_placeholder("A-B"), testing::MatchesRegex("nutshell_A_B_[0-9a-f]{32}"));
}

}  // namespace
}  // namespace nutshell::egress
