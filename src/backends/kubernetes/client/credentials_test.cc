#include "backends/kubernetes/client/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::kubernetes {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Deadline soon() {
  return Deadline::in(60s);
}

class CredentialsTest : public testing::Test {
 protected:
  WallClock clock() {
    return [this] { return now_; };
  }

  // Plugins are shell scripts that count their calls.
  Access plugin(const std::string& script) {
    EXPECT_TRUE(write_file(scratch_ / "plugin",
                           "#!/bin/sh\necho x >>" + (scratch_ / "calls").native() + "\n" + script,
                           0755));
    Access access;
    access.server_url = "https://api.test";
    access.authority = "AUTHORITY";
    access.plugin.emplace();
    access.plugin->command = {"/bin/sh", (scratch_ / "plugin").native(), "argument"};
    access.plugin->api_version = "client.authentication.k8s.io/v1";
    return access;
  }
  std::size_t calls() { return read_file(scratch_ / "calls").value_or("").size() / 2; }

  static std::string answer(const std::string& status) {
    return "echo '{\"apiVersion\": \"client.authentication.k8s.io/v1\", \"kind\": "
           "\"ExecCredential\", \"status\": {" +
           status + "}}'\n";
  }

  ScratchDirectory scratch_;
  std::chrono::system_clock::time_point now_ =
      std::chrono::system_clock::from_time_t(1'800'000'000);
};

TEST_F(CredentialsTest, ATokenOfTheKubeconfigStays) {
  Access access;
  access.token = "secret";
  const auto credentials = make_credentials(access);
  credentials->renew();
  EXPECT_EQ(credentials->current(soon()).value().token, "secret");
}

TEST_F(CredentialsTest, ATokenInAFileIsReadAgain) {
  Access access;
  access.token_file = scratch_ / "token";
  const auto credentials = make_credentials(access, clock());
  EXPECT_FALSE(credentials->current(soon()));
  ASSERT_TRUE(write_file(scratch_ / "token", "first\n"));
  EXPECT_EQ(credentials->current(soon()).value().token, "first");
  ASSERT_TRUE(write_file(scratch_ / "token", "second\n"));
  EXPECT_EQ(credentials->current(soon()).value().token, "first");
  now_ += 61s;
  EXPECT_EQ(credentials->current(soon()).value().token, "second");
  ASSERT_TRUE(write_file(scratch_ / "token", "third\n"));
  credentials->renew();
  EXPECT_EQ(credentials->current(soon()).value().token, "third");
}

TEST_F(CredentialsTest, APluginIsAskedAgainBeforeTheEnd) {
  // 1800000000 is 2027-01-15T08:00:00Z.
  const auto credentials = make_credentials(
      plugin(answer(R"("token": "t", "expirationTimestamp": "2027-01-15T10:00:00.5+01:00")")),
      clock());
  EXPECT_EQ(credentials->current(soon()).value().token, "t");
  now_ += 58min;
  EXPECT_TRUE(credentials->current(soon()));
  EXPECT_EQ(calls(), 1U);
  now_ += 1min;
  EXPECT_TRUE(credentials->current(soon()));
  EXPECT_EQ(calls(), 2U);
  credentials->renew();
  EXPECT_TRUE(credentials->current(soon()));
  EXPECT_EQ(calls(), 3U);
}

TEST_F(CredentialsTest, APluginIsToldWhatItAsksFor) {
  Access access = plugin("printf '%s|%s|%s' \"$1\" \"$PROFILE\" \"$KUBERNETES_EXEC_INFO\" >" +
                         (scratch_ / "told").native() + "\n" +
                         answer(R"("clientCertificateData": "C", "clientKeyData": "K")"));
  access.plugin->environment = {{"PROFILE", "p q"}};
  access.plugin->wants_cluster = true;
  const auto credentials = make_credentials(access, clock());
  const auto credential = credentials->current(soon());
  ASSERT_TRUE(credential) << credential.error().message;
  EXPECT_EQ(credential->certificate, "C");
  EXPECT_EQ(credential->key, "K");
  now_ += 10000h;
  EXPECT_TRUE(credentials->current(soon()));  // it named no end
  EXPECT_EQ(calls(), 1U);
  const std::string told = read_file(scratch_ / "told").value_or("");
  EXPECT_THAT(told, testing::StartsWith("argument|p q|{"));
  EXPECT_THAT(told, HasSubstr(R"("kind":"ExecCredential")"));
  EXPECT_THAT(told, HasSubstr(R"("server":"https://api.test")"));
  EXPECT_THAT(told, HasSubstr(R"("interactive":false)"));
}

TEST_F(CredentialsTest, APluginThatFailsIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"exit 3\n", "it failed"},
      {"echo hello\n", "no ExecCredential"},
      {answer(""), "no credentials"},
      {answer(R"("clientKeyData": "K")"), "alone"},
      {answer(R"("token": "t", "expirationTimestamp": "tomorrow")"), "ends at no moment"},
  };
  for (const auto& [script, why] : cases) {
    const auto credential = make_credentials(plugin(script), clock())->current(soon());
    ASSERT_FALSE(credential) << script;
    EXPECT_THAT(credential.error().message, HasSubstr(why));
    EXPECT_THAT(credential.error().message, HasSubstr("ask /bin/sh for credentials"));
  }
  Access access = plugin("");
  access.plugin->command = {"nutshell-no-such-plugin"};
  access.plugin->install_hint = "install the plugin";
  const auto missing = make_credentials(access, clock())->current(soon());
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("install the plugin"));
}

TEST_F(CredentialsTest, APluginThatHangsIsEnded) {
  const auto credential =
      make_credentials(plugin("exec sleep 600\n"), clock())->current(Deadline::in(200ms));
  ASSERT_FALSE(credential);
  EXPECT_EQ(credential.error().code, ErrorCode::DeadlineExceeded);
}

}  // namespace
}  // namespace nutshell::kubernetes
