#include "compaction/parsers/kubectl_describe_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view kPod = R"(Name:             api-1
Namespace:        shop
Labels:           app=api
                  tier=back
Annotations:      <none>
Containers:
  main:
    Container ID:  containerd://20016934e688
    Image:         busybox:1
    Port:          <none>
    Command:
      sh
      -c
      echo Port:    <none>
    State:          Waiting
      Reason:       CrashLoopBackOff
    Restart Count:  3
    Mounts:
      /var/run/secrets/kubernetes.io/serviceaccount from kube-api-access-tw4d8 (ro)
Volumes:
  kube-api-access-tw4d8:
    Type:                    Projected (a volume that contains injected data)
    TokenExpirationSeconds:  3607
Tolerations:                 node.kubernetes.io/not-ready:NoExecute op=Exists for 300s
Events:
  Type     Reason   Age                From     Message
  ----     ------   ----               ----     -------
  Warning  BackOff  11s (x4 over 50s)  kubelet  Back-off restarting failed container
)";

std::uint64_t omitted_by(const Facts& facts, std::string_view what) {
  for (const auto& omission : facts.omitted) {
    if (omission.what == what) return omission.lines;
  }
  return 0;
}

TEST(KubectlDescribeParser, FieldsLosePaddingAndWhatSaysNothingIsCounted) {
  const GivenOutput given("kubectl describe pod api-1", 0, std::string(kPod));
  ASSERT_TRUE(given.is_recognised_by(kubectl_describe_parser()));
  const auto facts = given.parsed_by(kubectl_describe_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(
      facts->kept,
      (Texts{"Name: api-1", "Namespace: shop", "Labels: app=api", " tier=back",
             "Containers:", " main:", "  Image: busybox:1", "  Command:", "   sh", "   -c",
             "   echo Port:    <none>", "  State: Waiting", "   Reason: CrashLoopBackOff",
             "  Restart Count: 3", "Events:", " Type|Reason|Age|From|Message",
             " Warning|BackOff|11s (x4 over 50s)|kubelet|Back-off restarting failed container"}));
  EXPECT_EQ(omitted_by(*facts, "empty fields"), 4U);  // two, and the headings Mounts and Volumes
  EXPECT_EQ(omitted_by(*facts, "ids"), 1U);
  EXPECT_EQ(omitted_by(*facts, "defaults"), 5U);
}

TEST(KubectlDescribeParser, DataOfAMapIsLeftAsItIs) {
  const GivenOutput given("kubectl describe configmap settings", 0,
                          "Name:         settings\nLabels:       <none>\n\nData\n====\n"
                          "app.conf:\n----\nimage:    <none>\n");
  const auto facts = given.parsed_by(kubectl_describe_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept,
            (Texts{"Name: settings", "Data", "app.conf:", "----", "image:    <none>"}));
}

TEST(KubectlDescribeParser, OtherFieldsAreNotTaken) {
  const GivenOutput given("cat notes", 0, "Name:  x\nAge:   3\n");
  EXPECT_FALSE(given.is_recognised_by(kubectl_describe_parser()));
}

}  // namespace
}  // namespace nutshell::compaction
