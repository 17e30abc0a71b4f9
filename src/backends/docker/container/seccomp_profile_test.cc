#include "backends/docker/container/seccomp_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/docker/engine/engine_json.h"

namespace nutshell::docker {
namespace {

// The rules that name the call.
std::vector<Json> rules_of(const std::string& call) {
  std::vector<Json> found;
  const Json profile = Json::parse(seccomp_profile());
  for (const Json& rule : profile["syscalls"]) {
    const Json& names = rule["names"];
    if (std::find(names.begin(), names.end(), call) != names.end()) found.push_back(rule);
  }
  return found;
}

TEST(SeccompProfile, AllowsWhatInitAndOrdinaryProgramsCall) {
  for (const char* call : {"read", "execve", "connect", "seccomp", "pidfd_open", "pidfd_getfd"}) {
    const auto rules = rules_of(call);
    ASSERT_EQ(rules.size(), 1U) << call;
    EXPECT_EQ(rules[0]["action"], "SCMP_ACT_ALLOW") << call;
  }
}

TEST(SeccompProfile, RefusesWhatTheNativeFilterRefuses) {
  EXPECT_EQ(Json::parse(seccomp_profile())["defaultAction"], "SCMP_ACT_ERRNO");
  for (const char* call :
       {"mount", "unshare", "setns", "bpf", "keyctl", "io_uring_setup", "kexec_load",
        "perf_event_open", "userfaultfd", "open_by_handle_at", "if", "errno"})
    EXPECT_TRUE(rules_of(call).empty()) << call;
}

TEST(SeccompProfile, AllowsNoCloneThatMakesNamespaces) {
  const auto rules = rules_of("clone");
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0]["args"][0]["op"], "SCMP_CMP_MASKED_EQ");
  EXPECT_EQ(rules[0]["args"][0]["valueTwo"], 0);
  const auto newer = rules_of("clone3");
  ASSERT_EQ(newer.size(), 1U);
  EXPECT_EQ(newer[0]["action"], "SCMP_ACT_ERRNO");
}

}  // namespace
}  // namespace nutshell::docker
