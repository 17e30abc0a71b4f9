#include "audit/redactor.h"

#include <gtest/gtest.h>

namespace nutshell::audit {
namespace {

TEST(Redactor, HidesWhatLooksLikeAToken) {
  const Redactor redactor;
  for (const std::string secret :
       {"ghp_0123456789abcdefghijABCDEFGHIJ012345", "sk-ant-api03-AbCdEf0123456789AbCdEf",
        "AKIAIOSFODNN7EXAMPLE", "glpat-aBcDeFgHiJkLmNoPqRsT", "xoxb-123456789012-abcdefghij",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3k"}) {
    const std::string clean = redactor.redact("curl -H 'x: " + secret + "' example.org");
    EXPECT_EQ(clean.find(secret), std::string::npos) << clean;
    EXPECT_NE(clean.find(kRedacted), std::string::npos) << clean;
    EXPECT_NE(clean.find("example.org"), std::string::npos) << clean;
  }
}

TEST(Redactor, HidesValuesOfSecretNames) {
  const Redactor redactor({"PLAIN"});
  for (const std::string text :
       {"DB_PASSWORD=hunter2x", "export API_TOKEN=hunter2x; ls", R"({"password": "hunter2x"})",
        "Authorization: Bearer hunter2x", "Authorization: Basic hunter2x", "PLAIN=hunter2x",
        "https://user:hunter2x@example.org/x", R"({\"secret\":\"hunter2x\"})",
        "MY_KEY='hunter2x'"}) {
    const std::string clean = redactor.redact(text);
    EXPECT_EQ(clean.find("hunter2x"), std::string::npos) << clean;
  }
}

TEST(Redactor, HidesKeysThatSpanLines) {
  const std::string clean = Redactor().redact(
      "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nb");
  EXPECT_EQ(clean, "a\n[redacted]\nb");
}

TEST(Redactor, LeavesOrdinaryTextAlone) {
  const Redactor redactor;
  for (const std::string text :
       {"git show 8c1ac85f0e3ad0aa5f6c2cf6e3f0a4a1b2c3d4e5", "make -j2 && ls -la /usr/lib",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "PWD=/workspace",
        "http://localhost:8080/a@b", "author: someone", "the tokenizer is fast", "",
        "a-very-long-branch-name-with-Many-Words-and-Numbers-123"}) {
    EXPECT_EQ(redactor.redact(text), text);
  }
}

TEST(Redactor, HidesKnownValuesWhereverTheyAre) {
  const Redactor redactor;
  const auto secrets =
      redactor.secrets_of({"PATH=/bin", "A_TOKEN=swordfish", "B_TOKEN=swordfish2"});
  ASSERT_EQ(secrets.size(), 2U);
  EXPECT_EQ(redactor.redact("echo swordfish2 swordfish", secrets), "echo [redacted] [redacted]");
  EXPECT_EQ(redactor.redact(R"({"command":"echo s\"word\\fish"})", {R"(s"word\fish)"}),
            R"({"command":"echo [redacted]"})");
}

TEST(Redactor, HidesTheWordBehindASecretFlag) {
  EXPECT_EQ(Redactor().redact_list({"mysql", "--password", "hunter2", "-u", "me"}),
            R"(["mysql","--password","[redacted]","-u","me"])");
}

}  // namespace
}  // namespace nutshell::audit
