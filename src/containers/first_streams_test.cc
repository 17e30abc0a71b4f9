#include "containers/first_streams.h"

#include <gtest/gtest.h>

#include "base/socket.h"

namespace nutshell::containers {
namespace {

TEST(FirstStreams, AreTakenOnce) {
  FirstStreams streams;
  auto pair = make_socket_pair(SocketKind::Stream);
  ASSERT_TRUE(pair);
  streams.add("a", std::move(pair->first), Lifetime::WithCaller);
  EXPECT_TRUE(streams.is_owner("a"));
  EXPECT_TRUE(streams.take("a"));
  EXPECT_FALSE(streams.take("a"));
  EXPECT_FALSE(streams.is_owner("a"));
}

TEST(FirstStreams, CannotBeTakenBeforeTheRelease) {
  FirstStreams streams;
  auto pair = make_socket_pair(SocketKind::Stream);
  ASSERT_TRUE(pair);
  streams.add("a", std::move(pair->first), Lifetime::WithCallerUntilReleased);
  EXPECT_FALSE(streams.take("a"));
  streams.release("a");
  EXPECT_TRUE(streams.take("a"));
}

TEST(FirstStreams, AreClosedWhenTheSandboxHasEnded) {
  FirstStreams streams;
  auto pair = make_socket_pair(SocketKind::Stream);
  ASSERT_TRUE(pair);
  streams.add("a", std::move(pair->first), Lifetime::Kept);
  streams.tidy();
  pair->second.reset();
  streams.tidy();
  EXPECT_FALSE(streams.take("a"));
}

}  // namespace
}  // namespace nutshell::containers
