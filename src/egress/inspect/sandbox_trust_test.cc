#include "egress/inspect/sandbox_trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pkcs12.h>

#include "egress/inspect/authority.h"
#include "egress/inspect/server_trust.h"

namespace nutshell::egress {
namespace {

using testing::Contains;

TEST(SandboxTrust, HoldsTheSandboxsAuthorityAndTheHosts) {
  const auto own = Authority::create();
  const auto host = Authority::create();
  const auto trust = trust_in_sandbox("/etc/x", own->certificate(), host->certificate());
  ASSERT_TRUE(trust) << trust.error().message;
  ASSERT_EQ(trust->files.size(), 5U);
  EXPECT_EQ(trust->files[0].bytes, own->certificate());
  EXPECT_TRUE(ServerTrust::create(trust->files[1].bytes));
  EXPECT_THAT(trust->files[1].bytes, testing::HasSubstr(host->certificate()));
  EXPECT_THAT(trust->environment, Contains("SSL_CERT_FILE=/etc/x/authorities.pem"));
  EXPECT_THAT(trust->environment, Contains("NODE_EXTRA_CA_CERTS=/etc/x/authority.pem"));
  for (const TrustFile& file : trust->files)
    EXPECT_THAT(file.bytes, testing::Not(testing::HasSubstr("PRIVATE KEY")));
}

TEST(SandboxTrust, JavasStoreHoldsBoth) {
  const auto own = Authority::create();
  const auto host = Authority::create();
  const auto trust = trust_in_sandbox("/etc/x", own->certificate(), host->certificate());
  ASSERT_TRUE(trust) << trust.error().message;
  const std::string& bytes = trust->files[2].bytes;
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
  PKCS12* store = d2i_PKCS12(nullptr, &begin, static_cast<long>(bytes.size()));
  ASSERT_NE(store, nullptr);
  EVP_PKEY* key = nullptr;
  X509* certificate = nullptr;
  STACK_OF(X509)* others = nullptr;
  EXPECT_EQ(PKCS12_parse(store, "changeit", &key, &certificate, &others), 1);
  EXPECT_EQ(key, nullptr);
  EXPECT_EQ(sk_X509_num(others), 2);
  sk_X509_pop_free(others, X509_free);
  PKCS12_free(store);
}

TEST(SandboxTrust, HostsListOfAuthoritiesIsFound) {
  const auto found = host_authorities("");
  if (!found) GTEST_SKIP() << found.error().message;
  EXPECT_TRUE(ServerTrust::create(*found));
}

}  // namespace
}  // namespace nutshell::egress
