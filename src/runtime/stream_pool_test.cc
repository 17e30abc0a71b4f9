#include "runtime/stream_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/socket.h"

namespace nutshell {
namespace {

class StreamPoolTest : public testing::Test {
 protected:
  // A stream whose other end stays open until it is erased from `inits_`.
  wire::InitClient stream() {
    auto pair = make_socket_pair(SocketKind::Stream);
    EXPECT_TRUE(pair);
    inits_.push_back(std::move(pair->second));
    return wire::InitClient(std::move(pair->first));
  }
  static int number_of(wire::InitClient& client) { return client.channel().descriptor(); }

  std::vector<UniqueFd> inits_;
};

TEST_F(StreamPoolTest, GivesBackTheStreamThatWasUsedLast) {
  StreamPool pool;
  EXPECT_FALSE(pool.take("a"));
  pool.keep("a", stream());
  wire::InitClient last = stream();
  const int number = number_of(last);
  pool.keep("a", std::move(last));
  auto taken = pool.take("a");
  ASSERT_TRUE(taken);
  EXPECT_EQ(number_of(*taken), number);
  EXPECT_EQ(pool.count(), 1U);
}

TEST_F(StreamPoolTest, GivesNoStreamOfOneSandboxToAnother) {
  StreamPool pool;
  pool.keep("a", stream());
  EXPECT_FALSE(pool.take("b"));
  EXPECT_TRUE(pool.take("a"));
}

TEST_F(StreamPoolTest, GivesNoStreamToTwoCallers) {
  StreamPool pool;
  std::vector<std::thread> threads;
  std::atomic<int> taken = 0;
  for (int i = 0; i < 4; ++i)
    pool.keep("a", stream());
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { taken += pool.take("a").has_value() ? 1 : 0; });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(taken, 4);
}

TEST_F(StreamPoolTest, DiscardsAStreamThatBroke) {
  StreamPool pool;
  pool.keep("a", stream());
  wire::InitClient broken = stream();
  pool.keep("a", std::move(broken));
  EXPECT_FALSE(pool.has_ended("a"));
  inits_.pop_back();
  EXPECT_TRUE(pool.has_ended("a"));
  EXPECT_TRUE(pool.take("a")) << "the other one is whole";
  EXPECT_EQ(pool.count(), 0U);
}

TEST_F(StreamPoolTest, KeepsNoClosedStream) {
  StreamPool pool;
  wire::InitClient closed = stream();
  closed.channel().close();
  pool.keep("a", std::move(closed));
  EXPECT_EQ(pool.count(), 0U);
}

TEST_F(StreamPoolTest, HoldsFewStreamsOfOneSandbox) {
  StreamPool pool;
  for (std::size_t i = 0; i < 2 * StreamPool::kMostOfOneSandbox; ++i)
    pool.keep("a", stream());
  EXPECT_EQ(pool.count(), StreamPool::kMostOfOneSandbox);
}

TEST_F(StreamPoolTest, ClosesTheStreamThatWasIdleLongestWhenItIsFull) {
  StreamPool pool(2);
  for (const char* sandbox : {"a", "b", "c"})
    pool.keep(sandbox, stream());
  EXPECT_EQ(pool.count(), 2U);
  EXPECT_FALSE(pool.take("a"));
  EXPECT_TRUE(pool.take("c"));
}

TEST_F(StreamPoolTest, ClosesTheStreamsOfASandboxThatIsForgotten) {
  StreamPool pool;
  pool.keep("a", stream());
  pool.keep("b", stream());
  pool.close("a");
  EXPECT_FALSE(pool.take("a"));
  pool.keep("a", stream());  // given back by a call that was still running
  pool.tidy([](const std::string& sandbox) { return sandbox == "b"; });
  EXPECT_FALSE(pool.take("a"));
  EXPECT_TRUE(pool.take("b"));
}

}  // namespace
}  // namespace nutshell
