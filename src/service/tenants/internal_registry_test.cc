#include "service/tenants/internal_registry.h"

#include <gtest/gtest.h>

namespace nutshell::service {
namespace {

TEST(InternalRegistry, IsAnAddressOrNameThatTheInternetDoesNotKnow) {
  for (const char* registry : {"localhost",
                               "localhost:5000",
                               "LocalHost:1",
                               "127.0.0.1",
                               "127.0.0.1:5000",
                               "127.9.9.9:1",
                               "[::1]:5000",
                               "[::ffff:127.0.0.1]:1",
                               "10.0.0.1",
                               "172.16.0.1",
                               "172.31.255.255",
                               "192.168.1.1:443",
                               "169.254.169.254",
                               "100.64.0.1",
                               "0.0.0.0:80",
                               "224.0.0.1",
                               "255.255.255.255",
                               "[fe80::1]",
                               "[fd00::1]:5000",
                               "[::]:1",
                               "127.1:80",
                               "2130706433:80",
                               "0x7f.1",
                               "0x7f000001:80",
                               "10.0.0.1.",
                               "registry:5000",
                               "metadata.google.internal",
                               "db.local",
                               "x.localhost:80",
                               "127.0.0.1.:80",
                               "",
                               "[2002:7f00:1::]",
                               "[64:ff9b::7f00:1]",
                               "a.b.LAN."})
    EXPECT_TRUE(is_internal_registry(registry)) << registry;
}

TEST(InternalRegistry, IsNoneOfTheInternet) {
  for (const char* registry :
       {"docker.io", "ghcr.io", "registry.example.com:5000", "quay.io.", "8.8.8.8:5000",
        "172.32.0.1", "[2606:4700::1111]:443", "127.0.0.1.example.com", "local.example.com"})
    EXPECT_FALSE(is_internal_registry(registry)) << registry;
}

}  // namespace
}  // namespace nutshell::service
