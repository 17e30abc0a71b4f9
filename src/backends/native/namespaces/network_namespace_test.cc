#include "backends/native/namespaces/network_namespace.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

namespace nutshell::native {
namespace {

class NetworkNamespaceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    auto home = open_own_network_namespace();
    ASSERT_TRUE(home) << home.error().message;
    home_ = std::move(*home);
  }

  // Sends one byte to `address` from inside the namespace. Returns whether the kernel took it.
  bool send_to(const NetworkNamespace& network, const char* address) {
    if (::setns(network.descriptor(), CLONE_NEWNET) != 0) return false;
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(9);
    ::inet_pton(AF_INET, address, &to.sin_addr);
    const ssize_t sent = ::sendto(socket.get(), "x", 1, 0, reinterpret_cast<sockaddr*>(&to),
                                  static_cast<socklen_t>(sizeof to));
    EXPECT_EQ(::setns(home_.get(), CLONE_NEWNET), 0);
    return sent == 1;
  }

  UniqueFd home_;
};

TEST_F(NetworkNamespaceTest, IsCleanAsLongAsNothingWasSent) {
  auto network = NetworkNamespace::create(home_);
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_TRUE(network->is_clean(home_).value_or(false));
  network->close_counters();
  EXPECT_TRUE(network->is_clean(home_).value_or(false));
}

TEST_F(NetworkNamespaceTest, IsNotCleanAfterAPacketOnLoopback) {
  auto network = NetworkNamespace::create(home_);
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_TRUE(send_to(*network, "127.0.0.1"));
  EXPECT_FALSE(network->is_clean(home_).value_or(true));
}

TEST_F(NetworkNamespaceTest, IsNotCleanAfterAPacketWithoutARoute) {
  auto network = NetworkNamespace::create(home_);
  ASSERT_TRUE(network) << network.error().message;
  network->close_counters();
  EXPECT_FALSE(send_to(*network, "192.0.2.1"));
  EXPECT_FALSE(network->is_clean(home_).value_or(true));
}

}  // namespace
}  // namespace nutshell::native
