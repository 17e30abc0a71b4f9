#include "backends/docker/engine/stream_bridges.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/file.h"
#include "base/socket.h"

namespace nutshell::docker {
namespace {

using namespace std::chrono_literals;

struct Carried {
  UniqueFd engine;  // the engine's end
  UniqueFd caller;  // the end that a caller of connect() has
};

Carried open_stream(StreamBridges& bridges) {
  auto pair = make_socket_pair(SocketKind::Stream);
  EXPECT_TRUE(pair);
  auto stream = bridges.add({std::move(*http::make_bare_transport(std::move(pair->first))), {}});
  EXPECT_TRUE(stream);
  return {std::move(pair->second), std::move(*stream)};
}

void expect_none_left(const StreamBridges& bridges) {
  const auto deadline = Deadline::in(10s);
  while (bridges.count() > 0 && !deadline.has_passed())
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(bridges.count(), 0U);
}

TEST(StreamBridges, CarryWhatACallerSends) {
  StreamBridges bridges;
  const Carried one = open_stream(bridges);
  ASSERT_EQ(::send(one.caller.get(), "hello", 5, 0), 5);
  std::string got(5, '\0');
  ASSERT_EQ(::recv(one.engine.get(), got.data(), got.size(), MSG_WAITALL), 5);
  EXPECT_EQ(got, "hello");
}

TEST(StreamBridges, EndWhenTheirCallerCloses) {
  StreamBridges bridges;
  Carried one = open_stream(bridges);
  one.caller.reset();  // the engine does not end its side
  expect_none_left(bridges);
}

TEST(StreamBridges, CarryTheLastWordsOfACallerThatCloses) {
  StreamBridges bridges;
  Carried one = open_stream(bridges);
  const std::string words(100'000, 'x');
  ASSERT_TRUE(write_all(one.caller.get(), words));
  one.caller.reset();
  std::string got(words.size(), '\0');
  EXPECT_EQ(::recv(one.engine.get(), got.data(), got.size(), MSG_WAITALL),
            static_cast<ssize_t>(words.size()));
  expect_none_left(bridges);
}

TEST(StreamBridges, EndWhenTheEngineCloses) {
  StreamBridges bridges;
  std::vector<Carried> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(open_stream(bridges));
  EXPECT_EQ(bridges.count(), 20U);
  for (Carried& one : all) {
    one.engine.reset();
    char byte = 0;
    EXPECT_EQ(::recv(one.caller.get(), &byte, 1, 0), 0) << "the end reaches the caller";
    one.caller.reset();
  }
  expect_none_left(bridges);
}

TEST(StreamBridges, EndWithTheirOwner) {
  Carried one;
  {
    StreamBridges bridges;
    one = open_stream(bridges);
  }
  char byte = 0;
  EXPECT_EQ(::recv(one.caller.get(), &byte, 1, 0), 0);
}

}  // namespace
}  // namespace nutshell::docker
