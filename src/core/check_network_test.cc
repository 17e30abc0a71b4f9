#include "core/check_network.h"

#include <gtest/gtest.h>

#include "core/sandbox_spec.h"

namespace nutshell {
namespace {

SandboxSpec with_network(NetworkPolicy policy) {
  SandboxSpec spec;
  spec.network = std::move(policy);
  return spec;
}

TEST(CheckNetwork, TakesListsAndTheWholeNetwork) {
  NetworkPolicy policy;
  policy.allow = {"example.org:443", "pypi"};
  EXPECT_TRUE(check_spec(with_network(policy)));
  policy.mode = NetworkMode::UnsafeFull;
  EXPECT_TRUE(check_spec(with_network(policy)));
  policy.mode = NetworkMode::Allowed;
  policy.tls = TlsMode::Inspect;
  policy.secrets = {{.name = "TOKEN", .value = "x", .hosts = {"example.org"}}};
  EXPECT_TRUE(check_spec(with_network(policy)));
}

TEST(CheckNetwork, RefusesInspectionThatWouldReadNothing) {
  NetworkPolicy policy;
  policy.tls = TlsMode::Inspect;
  EXPECT_FALSE(check_network(policy));
  policy.mode = NetworkMode::UnsafeFull;
  EXPECT_FALSE(check_network(policy));
}

TEST(CheckNetwork, RefusesSecretsAndCachesWithoutInspection) {
  NetworkPolicy secret;
  secret.allow = {"example.org"};
  secret.secrets = {{.name = "TOKEN", .value = "x", .hosts = {"example.org"}}};
  NetworkPolicy cache;
  cache.allow = {"pypi"};
  cache.caches = {"pypi"};
  for (const NetworkPolicy& policy : {secret, cache}) {
    const auto checked = check_network(policy);
    ASSERT_FALSE(checked);
    EXPECT_NE(checked.error().message.find("--inspect"), std::string::npos);
  }
}

TEST(CheckNetwork, RefusesAPolicyBeyondItsBounds) {
  NetworkPolicy policy;
  policy.allow.assign(NetworkPolicy::kMostRules + 1, "example.org");
  EXPECT_FALSE(check_network(policy));
  policy.allow = {"example.org"};
  policy.most_connections = 0;
  EXPECT_FALSE(check_network(policy));
}

}  // namespace
}  // namespace nutshell
