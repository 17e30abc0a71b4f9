#include "service/tenants/allowed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nutshell::service {
namespace {

using testing::HasSubstr;

class AllowedTest : public testing::Test {
 protected:
  static SandboxSpec spec_with(const std::string& backend, const std::string& image,
                               const std::string& runtime = {}) {
    SandboxSpec spec;
    spec.backend = backend;
    spec.image = image;
    spec.runtime = runtime;
    return spec;
  }
  bool allows(const SandboxSpec& spec) { return check_allowed(rules_, bob_, spec).has_value(); }

  TenantRules rules_;
  Caller bob_{"bob", "token ci", HostFiles::Denied};
  Caller owner_{"local", "uid 0", HostFiles::Allowed};
};

TEST_F(AllowedTest, WithoutListsEverythingMayBeChosen) {
  EXPECT_TRUE(allows(spec_with("docker", "python", "runsc")));
}

TEST_F(AllowedTest, BackendsAreThoseOfTheList) {
  rules_.allowed.backends = {"gvisor"};
  EXPECT_TRUE(allows(spec_with("gvisor", "")));
  EXPECT_FALSE(allows(spec_with("docker", "")));
  EXPECT_FALSE(allows(spec_with("", "")));  // the first there is, by its name
  rules_.allowed.backends = {"native"};
  EXPECT_TRUE(allows(spec_with("", "")));
  EXPECT_TRUE(check_allowed(rules_, owner_, spec_with("docker", "x")));
}

TEST_F(AllowedTest, RuntimesAreThoseOfTheListOrTheEnginesOwn) {
  rules_.allowed.runtimes = {"runsc"};
  EXPECT_TRUE(allows(spec_with("docker", "python", "runsc")));
  EXPECT_TRUE(allows(spec_with("docker", "python", "")));
  EXPECT_FALSE(allows(spec_with("docker", "python", "runc")));
}

TEST_F(AllowedTest, ImagesAndRegistriesAreMatchedByWholeNames) {
  rules_.allowed.images = {"python:*", "debian", "registry.example.com:5000/team/*"};
  for (const char* image :
       {"python", "python:3.12", "library/python:3", "docker.io/library/python:3", "debian",
        "debian:latest", "registry.example.com:5000/team/a/b:1", ""})
    EXPECT_TRUE(allows(spec_with("docker", image))) << image;
  for (const char* image :
       {"pythonx", "evil/python:3", "evil.example.com/library/python:3", "debian:12",
        "registry.example.com/team/a", "registry.example.com:5000/other/a", "python@sha256:aa",
        "evil.example.com/docker.io/library/python:3"})
    EXPECT_FALSE(allows(spec_with("docker", image))) << image;
  rules_.allowed.images.clear();
  rules_.allowed.registries = {"docker.io", "localhost:5000"};
  EXPECT_TRUE(allows(spec_with("docker", "python@sha256:aa")));
  EXPECT_TRUE(allows(spec_with("docker", "localhost:5000/x")));
  EXPECT_FALSE(allows(spec_with("docker", "localhost/x")));
  EXPECT_FALSE(allows(spec_with("docker", "docker.io.evil.com/library/python")));
}

TEST_F(AllowedTest, ATenantsOwnListsTakeThePlaceOfTheOthers) {
  rules_.allowed.backends = {"gvisor"};
  rules_.allowed_by_tenant["bob"].backends = {"docker"};
  EXPECT_TRUE(allows(spec_with("docker", "x")));
  EXPECT_FALSE(allows(spec_with("gvisor", "x")));
  const auto refused = check_allowed(rules_, bob_, spec_with("native", ""));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::PermissionDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("backend 'native'"));
}

TEST_F(AllowedTest, ATenantsImageDoesNotDependOnTheHostsFiles) {
  for (const char* image : {"etc/shadow", "etc/shadowx", "proc/self/root", "tmp"}) {
    const auto admitted = admit_spec(rules_, bob_, spec_with("", image));
    ASSERT_TRUE(admitted) << image;
    EXPECT_EQ(admitted->image_naming, ImageNaming::NameOnly);
  }
  for (const char* image : {"/etc", "./etc", "../etc", "etc/../x", "a//b", "a/", "a/.b"}) {
    const auto refused = admit_spec(rules_, bob_, spec_with("", image));
    ASSERT_FALSE(refused) << image;
    EXPECT_EQ(refused.error().code, ErrorCode::PermissionDenied);
  }
  EXPECT_EQ(admit_spec(rules_, owner_, spec_with("", "/etc"))->image_naming,
            ImageNaming::NameOrPath);
}

TEST_F(AllowedTest, OnlyCallersOnTheOwnSocketGetANetwork) {
  SandboxSpec spec;
  spec.network.allow = {"example.org"};
  EXPECT_TRUE(admit_spec(rules_, owner_, spec));
  const auto refused = admit_spec(rules_, bob_, spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::PermissionDenied);
  EXPECT_TRUE(check_network_allowed(owner_));
  EXPECT_EQ(check_network_allowed(bob_).error().code, ErrorCode::PermissionDenied);
}

}  // namespace
}  // namespace nutshell::service
