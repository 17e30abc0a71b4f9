#include "containers/init_orders.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace nutshell::containers {
namespace {

bool has(const std::vector<std::string>& environment, const std::string& variable) {
  return std::count(environment.begin(), environment.end(), variable) == 1;
}

TEST(ContainerEnvironment, LaterValueReplacesAnEarlierOne) {
  const auto environment =
      environment_for({"PATH=/image", "HOME=/root", "A=image"}, {"A=one", "A=two", "USER=me"});
  for (const char* variable : {"PATH=/image", "HOME=/tmp/home", "A=two", "USER=me"})
    EXPECT_TRUE(has(environment, variable)) << variable;
  EXPECT_EQ(environment.size(), 7U);
}

TEST(ContainerEnvironment, SkipsWhatIsNoVariable) {
  const auto environment = environment_for({"=x", "novalue", std::string("A=\0b", 4)}, {});
  EXPECT_EQ(environment, environment_for({}, {}));
}

TEST(ContainerSpec, WithKeptCachesIsRefused) {
  SandboxSpec spec;
  EXPECT_TRUE(check_native_fields(spec));
  spec.workspace = "/project";
  spec.keep_caches = KeepCaches::Yes;
  const auto refused = check_native_fields(spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_NE(refused.error().message.find("native"), std::string::npos);
}

TEST(ContainerOrders, KeptSandboxAwaitsItsRelease) {
  const SandboxSpec spec;
  EXPECT_EQ(orders_for(spec, Lifetime::Kept, {}).awaits_release, 1);
  EXPECT_EQ(orders_for(spec, Lifetime::Kept, {}).ends_with_connection, 0);
  for (const Lifetime lifetime : {Lifetime::WithCaller, Lifetime::WithCallerUntilReleased}) {
    EXPECT_EQ(orders_for(spec, lifetime, {}).awaits_release, 0);
    EXPECT_EQ(orders_for(spec, lifetime, {}).ends_with_connection, 1);
  }
}

}  // namespace
}  // namespace nutshell::containers
