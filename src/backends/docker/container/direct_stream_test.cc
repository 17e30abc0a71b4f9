#include "backends/docker/container/direct_stream.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/socket.h"

namespace nutshell::docker {
namespace {

// Everything is in one namespace here: what is left is to enter it, and to know who listens.
class DirectStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "entering a namespace needs root";
    auto listener = listen_on(name_, SocketKind::Stream);
    ASSERT_TRUE(listener) << listener.error().message;
    listener_ = std::move(*listener);
  }
  const std::string name_ = "@nutshell-direct-" + std::to_string(::getpid());
  UniqueFd listener_;
};

TEST_F(DirectStreamTest, LeadsToTheProcessThatListens) {
  const auto process = ContainerProcess::open(::getpid());
  ASSERT_TRUE(process) << process.error().message;
  const auto stream = process->connect(name_.c_str());
  if (!stream && stream.error().code == ErrorCode::PermissionDenied) GTEST_SKIP();
  ASSERT_TRUE(stream) << stream.error().message;
  const auto accepted = accept_from(listener_.get());
  ASSERT_TRUE(accepted);
  EXPECT_EQ(peer_of(accepted->get())->process, ::getpid());
}

TEST_F(DirectStreamTest, LeadsToNoOtherProcess) {
  const auto process = ContainerProcess::open(::getppid());
  ASSERT_TRUE(process) << process.error().message;
  const auto stream = process->connect(name_.c_str());
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, ErrorCode::PermissionDenied);
}

TEST_F(DirectStreamTest, NeedsAProcessAndAListener) {
  EXPECT_FALSE(ContainerProcess::open(0));
  EXPECT_FALSE(ContainerProcess::open(-1));
  listener_.reset();
  EXPECT_FALSE(ContainerProcess::open(::getpid())->connect(name_.c_str()));
}

}  // namespace
}  // namespace nutshell::docker
