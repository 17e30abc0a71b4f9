#include "http/stream_relays.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/file.h"
#include "base/socket.h"

namespace nutshell::http {
namespace {

using namespace std::chrono_literals;

struct Carried {
  UniqueFd server;
  UniqueFd caller;
};

Carried open_stream(StreamRelays& relays) {
  auto pair = make_socket_pair(SocketKind::Stream);
  EXPECT_TRUE(pair);
  auto stream = relays.add(std::move(*make_bare_transport(std::move(pair->first))));
  EXPECT_TRUE(stream);
  return {std::move(pair->second), std::move(*stream)};
}

void expect_none_left(const StreamRelays& relays) {
  const auto deadline = Deadline::in(10s);
  while (relays.count() > 0 && !deadline.has_passed())
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(relays.count(), 0U);
}

TEST(StreamRelays, CarryWhatACallerSends) {
  StreamRelays relays;
  const Carried one = open_stream(relays);
  ASSERT_EQ(::send(one.caller.get(), "hello", 5, 0), 5);
  std::string got(5, '\0');
  ASSERT_EQ(::recv(one.server.get(), got.data(), got.size(), MSG_WAITALL), 5);
  EXPECT_EQ(got, "hello");
}

TEST(StreamRelays, EndWhenTheirCallerCloses) {
  StreamRelays relays;
  Carried one = open_stream(relays);
  one.caller.reset();  // the server keeps its side open
  expect_none_left(relays);
}

TEST(StreamRelays, CarryTheLastWordsOfACallerThatCloses) {
  StreamRelays relays;
  Carried one = open_stream(relays);
  const std::string words(100'000, 'x');
  ASSERT_TRUE(write_all(one.caller.get(), words));
  one.caller.reset();
  std::string got(words.size(), '\0');
  EXPECT_EQ(::recv(one.server.get(), got.data(), got.size(), MSG_WAITALL),
            static_cast<ssize_t>(words.size()));
  expect_none_left(relays);
}

TEST(StreamRelays, EndWhenTheServerCloses) {
  StreamRelays relays;
  std::vector<Carried> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(open_stream(relays));
  EXPECT_EQ(relays.count(), 20U);
  for (Carried& one : all) {
    one.server.reset();
    char byte = 0;
    EXPECT_EQ(::recv(one.caller.get(), &byte, 1, 0), 0) << "the end reaches the caller";
    one.caller.reset();
  }
  expect_none_left(relays);
}

TEST(StreamRelays, EndWithTheirOwner) {
  Carried one;
  {
    StreamRelays relays;
    one = open_stream(relays);
  }
  char byte = 0;
  EXPECT_EQ(::recv(one.caller.get(), &byte, 1, 0), 0);
}

}  // namespace
}  // namespace nutshell::http
