#include "base/descriptor_message.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <tuple>

#include "base/socket.h"

namespace nutshell {
namespace {

class DescriptorMessage : public testing::Test {
 protected:
  DescriptorMessage() {
    std::tie(near_, far_) = std::move(*make_socket_pair(SocketKind::Stream));
    std::tie(reader_, writer_) = std::move(*make_socket_pair(SocketKind::Stream));
  }
  void send(std::vector<int> descriptors) {
    ASSERT_EQ(send_with_descriptors(near_.get(), "x", descriptors, 0), 1);
  }
  ssize_t receive_one(UniqueFd& descriptor) {
    return receive_with_descriptor(far_.get(), space_, MSG_DONTWAIT, descriptor);
  }
  // Whether nobody holds the sending end of reader_ any more.
  bool is_given_back() {
    writer_.reset();
    char byte = 0;
    return ::recv(reader_.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }

  UniqueFd near_;
  UniqueFd far_;
  UniqueFd reader_;
  UniqueFd writer_;
  std::array<char, 8> space_{};
};

TEST_F(DescriptorMessage, BringsOneDescriptorThatClosesOnExec) {
  send({writer_.get()});
  UniqueFd descriptor;
  EXPECT_EQ(receive_one(descriptor), 1);
  ASSERT_TRUE(descriptor);
  EXPECT_NE(::fcntl(descriptor.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(::send(descriptor.get(), "y", 1, 0), 1);
  EXPECT_EQ(::recv(reader_.get(), space_.data(), 1, 0), 1);
}

TEST_F(DescriptorMessage, LeavesADescriptorAloneIfNoneCame) {
  send({});
  UniqueFd descriptor(::dup(writer_.get()));
  EXPECT_EQ(receive_one(descriptor), 1);
  EXPECT_TRUE(descriptor);
}

TEST_F(DescriptorMessage, ClosesSeveralWhereOneIsExpected) {
  send({writer_.get(), writer_.get()});
  UniqueFd descriptor;
  EXPECT_EQ(receive_one(descriptor), 1);
  EXPECT_FALSE(descriptor);
  EXPECT_TRUE(is_given_back());
}

TEST_F(DescriptorMessage, BringsAsManyAsItMay) {
  send(std::vector<int>(kMostMessageDescriptors, writer_.get()));
  std::vector<UniqueFd> descriptors;
  Arrived arrived = Arrived::Cut;
  EXPECT_EQ(receive_with_descriptors(far_.get(), space_, MSG_DONTWAIT, descriptors, &arrived), 1);
  EXPECT_EQ(descriptors.size(), kMostMessageDescriptors);
  EXPECT_EQ(arrived, Arrived::Whole);
}

TEST_F(DescriptorMessage, IsNotSentWithMore) {
  const std::vector<int> descriptors(kMostMessageDescriptors + 1, writer_.get());
  EXPECT_EQ(send_with_descriptors(near_.get(), "x", descriptors, 0), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(DescriptorMessage, SaysWhenNothingCame) {
  UniqueFd descriptor;
  EXPECT_EQ(receive_one(descriptor), -1);
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace nutshell
