#include "backends/native/namespaces/network_refusals.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace nutshell::native {
namespace {

TEST(NetworkRefusals, AreFoundByTheNameOfTheirColumn) {
  EXPECT_EQ(no_routes_of_four("Icmp: A OutNoRoutes\nIcmp: 1 9\n"
                              "Ip: Forwarding OutDiscards OutNoRoutes ReasmTimeout\n"
                              "Ip: 1 2 37 0\nTcp: x\n"),
            37U);
  EXPECT_EQ(no_routes_of_six("Ip6InNoRoutes    \t5\nIp6OutNoRoutes            \t4\n"), 4U);
}

TEST(NetworkRefusals, AreUnknownInMalformedText) {
  for (const char* text :
       {"", "\n", "Ip: OutNoRoutes", "Ip: OutNoRoutes\nTcp: 1\n", "Ip: A OutNoRoutes\nIp: 1\n",
        "Ip: OutNoRoutes\nIp: x\n", "Ip: A\nIp: 1\n"})
    EXPECT_FALSE(no_routes_of_four(text)) << text;
  for (const char* text : {"", "Ip6OutNoRoutes", "Ip6OutNoRoutes \t", "Ip6OutNoRoutesX 1\n"})
    EXPECT_FALSE(no_routes_of_six(text)) << text;
}

TEST(NetworkRefusals, AreReadForALivingProcess) {
  if (::access("/proc/self/net/snmp", R_OK) != 0) GTEST_SKIP() << "no /proc/net/snmp here";
  EXPECT_TRUE(count_unreachable(::getpid()));
  EXPECT_FALSE(count_unreachable(0x7fffffff));
}

}  // namespace
}  // namespace nutshell::native
