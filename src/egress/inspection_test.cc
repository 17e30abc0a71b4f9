#include "egress/inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::egress {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

NetworkPolicy with_secret(std::vector<std::string> hosts, std::string value = "swordfish") {
  NetworkPolicy policy;
  policy.allow = {"example.org"};
  policy.tls = TlsMode::Inspect;
  policy.secrets = {{.name = "TOKEN", .value = std::move(value), .hosts = std::move(hosts)}};
  return policy;
}

class InspectionTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto other = Authority::create();
    ASSERT_TRUE(other) << other.error().message;
    const auto list = scratch_ / "authorities.pem";
    ASSERT_TRUE(write_file(list, other->certificate(), 0600));
    auto made =
        Inspection::create(with_secret({"*.example.org:443"}), {"/trust", scratch_ / "kept", list});
    ASSERT_TRUE(made) << made.error().message;
    inspection_ = std::move(*made);
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Inspection> inspection_;
};

TEST_F(InspectionTest, GivesCommandsAPlaceholderAndNoValue) {
  const SandboxTrust& trust = inspection_->trust();
  EXPECT_THAT(trust.environment, Contains(StartsWith("TOKEN=nutshell_TOKEN_")));
  EXPECT_THAT(trust.environment, Contains("SSL_CERT_FILE=/trust/authorities.pem"));
  EXPECT_THAT(trust.environment, Not(Contains(HasSubstr("swordfish"))));
}

TEST_F(InspectionTest, KeepsASecretForItsHosts) {
  const auto secrets = inspection_->settings().secrets;
  ASSERT_EQ(secrets.size(), 1U);
  EXPECT_TRUE(secrets[0].applies("api.example.org", 443));
  EXPECT_TRUE(secrets[0].applies("API.Example.org.", 443));
  EXPECT_FALSE(secrets[0].applies("example.org", 443));
  EXPECT_FALSE(secrets[0].applies("api.example.org", 8443));
  EXPECT_FALSE(secrets[0].applies("api.example.org.evil.test", 443));
}

TEST_F(InspectionTest, TakesANewValueAndNoNewName) {
  ASSERT_TRUE(inspection_->set_policy(with_secret({"example.org"}, "another")));
  EXPECT_EQ(inspection_->settings().secrets[0].value, "another");
  NetworkPolicy other = with_secret({"example.org"});
  other.secrets[0].name = "OTHER";
  const auto refused = inspection_->set_policy(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Conflict);
  EXPECT_EQ(inspection_->settings().secrets[0].value, "another");
}

TEST_F(InspectionTest, KeepsDownloadsOnceAPolicyHasCaches) {
  EXPECT_EQ(inspection_->settings().cache.store, nullptr);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "kept"));
  NetworkPolicy policy = with_secret({"example.org"});
  policy.caches = {"pypi"};
  const auto set = inspection_->set_policy(policy);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_NE(inspection_->settings().cache.store, nullptr);
  EXPECT_THAT(inspection_->settings().cache.registries, testing::ElementsAre("pypi"));
}

TEST(CheckSecrets, RefusesWhatCannotBeKept) {
  EXPECT_TRUE(check_secrets(with_secret({"example.org"})));
  EXPECT_FALSE(check_secrets(with_secret({})));
  EXPECT_FALSE(check_secrets(with_secret({"*"})));
  EXPECT_FALSE(check_secrets(with_secret({"example.org"}, "short")));
  EXPECT_FALSE(check_secrets(with_secret({"example.org"}, "two\nlines")));
  NetworkPolicy misnamed = with_secret({"example.org"});
  misnamed.secrets[0].name = "A=B";
  EXPECT_FALSE(check_secrets(misnamed));
}

}  // namespace
}  // namespace nutshell::egress
