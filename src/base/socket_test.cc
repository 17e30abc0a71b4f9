#include "base/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;

class Packets : public testing::Test {
 protected:
  Packets() { std::tie(near_, far_) = std::move(*make_socket_pair(SocketKind::Packets)); }

  UniqueFd near_;
  UniqueFd far_;
};

TEST_F(Packets, KeepTheirBorders) {
  ASSERT_TRUE(send_packet(near_.get(), "one"));
  ASSERT_TRUE(send_packet(near_.get(), "two"));
  EXPECT_EQ(receive_packet(far_.get(), Deadline::in(1s))->bytes, "one");
  EXPECT_EQ(receive_packet(far_.get(), Deadline::in(1s))->bytes, "two");
}

TEST_F(Packets, CarryDescriptorsThatCloseOnExec) {
  auto [reader, writer] = std::move(*make_socket_pair(SocketKind::Stream));
  ASSERT_TRUE(send_packet(near_.get(), "take", {writer.get(), writer.get()}));
  auto packet = receive_packet(far_.get(), Deadline::in(1s));
  ASSERT_TRUE(packet) << packet.error().message;
  ASSERT_EQ(packet->descriptors.size(), 2U);
  EXPECT_NE(::fcntl(packet->descriptors[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_TRUE(write_all(packet->descriptors[1].get(), "through"));
  char text[8] = {};
  EXPECT_EQ(::read(reader.get(), text, sizeof text), 7);
  EXPECT_STREQ(text, "through");
}

TEST_F(Packets, PassUpToTheLargestSize) {
  const std::string largest(kMostPacketBytes, 'x');
  ASSERT_TRUE(send_packet(near_.get(), largest));
  EXPECT_EQ(receive_packet(far_.get(), Deadline::in(1s))->bytes, largest);
  EXPECT_FALSE(send_packet(near_.get(), largest + "x"));
}

TEST_F(Packets, LongerThanAllowedAreCorruptAndNotCut) {
  const std::string longer(kMostPacketBytes + 1, 'x');
  ASSERT_GT(::send(near_.get(), longer.data(), longer.size(), 0), 0);
  const auto packet = receive_packet(far_.get(), Deadline::in(1s));
  ASSERT_FALSE(packet);
  EXPECT_EQ(packet.error().code, ErrorCode::Corrupt);
}

TEST_F(Packets, EndIsAnEmptyPacket) {
  near_.reset();
  const auto packet = receive_packet(far_.get(), Deadline::in(1s));
  ASSERT_TRUE(packet);
  EXPECT_TRUE(packet->bytes.empty());
  EXPECT_TRUE(packet->descriptors.empty());
}

TEST_F(Packets, SilenceEndsAtTheDeadline) {
  const auto packet = receive_packet(far_.get(), Deadline::in(1ms));
  ASSERT_FALSE(packet);
  EXPECT_EQ(packet.error().code, ErrorCode::DeadlineExceeded);
}

TEST_F(Packets, WithoutAReceiverAreAnErrorAndNoSignal) {
  far_.reset();
  const auto sent = send_packet(near_.get(), "x");
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::Unavailable);
}

TEST(Socket, IsFoundUnderAPathTooLongForItsAddress) {
  const ScratchDirectory scratch;
  const auto folder = scratch / std::string(200, 'd');
  std::filesystem::create_directory(folder);
  const auto listener = listen_on(folder / "socket", SocketKind::Packets);
  ASSERT_TRUE(listener) << listener.error().message;
  const auto caller = connect_to(folder / "socket", SocketKind::Packets);
  ASSERT_TRUE(caller) << caller.error().message;
  const auto accepted = accept_from(listener->get());
  ASSERT_TRUE(accepted) << accepted.error().message;
  EXPECT_EQ(peer_of(accepted->get())->user, ::geteuid());
  EXPECT_EQ(peer_of(accepted->get())->process, ::getpid());
}

TEST(Socket, WithoutAListenerIsAnError) {
  const ScratchDirectory scratch;
  EXPECT_EQ(connect_to(scratch / "none", SocketKind::Packets).error().code, ErrorCode::NotFound);
}

TEST_F(Packets, ToAReceiverThatDoesNotReadAreNotWaitedFor) {
  int sent = 0;
  for (; sent < 100'000; ++sent) {
    const auto taken = try_send_packet(near_.get(), "c", {near_.get()});
    ASSERT_TRUE(taken) << taken.error().message;
    if (!*taken) break;
  }
  EXPECT_GT(sent, 10);
  EXPECT_LT(sent, 100'000);
  ASSERT_TRUE(receive_packet(far_.get(), Deadline::in(std::chrono::seconds(1))));
  EXPECT_TRUE(try_send_packet(near_.get(), "c").value_or(false));
}

}  // namespace
}  // namespace nutshell
