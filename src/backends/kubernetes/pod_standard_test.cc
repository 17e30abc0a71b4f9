#include "backends/kubernetes/pod_standard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/kubernetes/pod_standard_fixture.h"

namespace nutshell::kubernetes {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::StartsWith;

nlohmann::json broken_pod(const PodBreach& breach) {
  nlohmann::json pod = nlohmann::json::parse(kRestrictedPod);
  const nlohmann::json::json_pointer at(breach.pointer);
  if (breach.value.empty()) {
    pod[at.parent_pointer()].erase(at.back());
  } else {
    pod[at] = nlohmann::json::parse(breach.value);
  }
  return pod;
}

TEST(PodStandard, IsKeptByARestrictedPod) {
  EXPECT_THAT(breaches_of_standard(nlohmann::json::parse(kRestrictedPod)), IsEmpty());
}

TEST(PodStandard, NamesEveryBreach) {
  for (const PodBreach& breach : pod_breaches()) {
    EXPECT_THAT(breaches_of_standard(broken_pod(breach)), Contains(StartsWith(breach.named + ":")))
        << breach.pointer << " " << breach.value;
  }
}

TEST(PodStandard, NamesAllBreachesAtOnce) {
  nlohmann::json pod = nlohmann::json::parse(kRestrictedPod);
  pod["spec"]["hostNetwork"] = true;
  pod["spec"]["hostPID"] = true;
  EXPECT_EQ(breaches_of_standard(pod).size(), 2U);
}

TEST(PodStandard, ATextThatIsNoPodDoesNotKeepIt) {
  for (const char* text :
       {"null", "[]", "1", "{}", R"({"spec": []})", R"({"spec": {"containers": 1}})",
        R"({"spec": {"volumes": [1], "containers": ["x", null]}})"})
    EXPECT_FALSE(breaches_of_standard(nlohmann::json::parse(text)).empty()) << text;
}

}  // namespace
}  // namespace nutshell::kubernetes
