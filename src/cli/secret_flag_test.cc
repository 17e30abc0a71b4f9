#include "cli/secret_flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string refusal(const std::string& text) {
  const auto secret = parse_secret(text);
  return secret ? "" : secret.error().message;
}

TEST(SecretFlag, TakesTheValueFromAVariable) {
  ASSERT_EQ(::setenv("NUTSHELL_SECRET_TEST", "open sesame", 1), 0);
  const auto secret =
      parse_secret("TOKEN=@env:NUTSHELL_SECRET_TEST,host=api.example.org,host=*.example.net:8443");
  ASSERT_TRUE(secret) << secret.error().message;
  EXPECT_EQ(secret->name, "TOKEN");
  EXPECT_EQ(secret->value, "open sesame");
  EXPECT_THAT(secret->hosts, ElementsAre("api.example.org", "*.example.net:8443"));
  EXPECT_FALSE(secret->is_in_query);
  EXPECT_FALSE(secret->is_in_body);
}

TEST(SecretFlag, SaysWhereElseInARequestItGoes) {
  ASSERT_EQ(::setenv("NUTSHELL_SECRET_TEST", "open sesame", 1), 0);
  const auto secret = parse_secret("T=@env:NUTSHELL_SECRET_TEST,in=query,host=a.test,in=body");
  ASSERT_TRUE(secret) << secret.error().message;
  EXPECT_TRUE(secret->is_in_query);
  EXPECT_TRUE(secret->is_in_body);
}

TEST(SecretFlag, TakesTheValueFromAProgram) {
  const auto secret = parse_secret("T=@command:echo from a, program,host=a.test");
  ASSERT_TRUE(secret) << secret.error().message;
  EXPECT_EQ(secret->value, "from a, program");
  EXPECT_THAT(refusal("T=@command:false,host=a.test"), HasSubstr("false failed"));
}

TEST(SecretFlag, TakesTheTextOfAFileWithoutTheEndOfItsLine) {
  const ScratchDirectory scratch;
  const auto path = scratch / "a,file";
  ASSERT_TRUE(write_file(path, "from a file\n", 0600));
  const auto secret = parse_secret("T=@file:" + path.native() + ",host=a.test");
  ASSERT_TRUE(secret) << secret.error().message;
  EXPECT_EQ(secret->value, "from a file");
}

TEST(SecretFlag, WithoutMeaningIsRefused) {
  ::unsetenv("NUTSHELL_SECRET_UNSET");
  EXPECT_THAT(refusal("T"), HasSubstr("there is no NAME="));
  EXPECT_THAT(refusal("T=@env:HOME"), HasSubstr("names no host"));
  EXPECT_THAT(refusal("T=@env:HOME,host=a.test,only=b"), HasSubstr("'only=b'"));
  EXPECT_THAT(refusal("T=@env:NUTSHELL_SECRET_UNSET,host=a.test"), HasSubstr("is not set here"));
  EXPECT_THAT(refusal("T=@file:/no/such/file,host=a.test"), HasSubstr("/no/such/file"));
}

TEST(SecretFlag, IsNotRepeatedWithAValueInIt) {
  EXPECT_THAT(refusal("T=swordfish,host=a.test"), Not(HasSubstr("swordfish")));
}

}  // namespace
}  // namespace nutshell::cli
