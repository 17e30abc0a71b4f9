#include "wire/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace nutshell::wire {
namespace {

constexpr std::size_t kMost = 1000;

// Gives the reader as many bytes as it has room for; returns the rest.
std::string_view put_some(FrameReader& reader, std::string_view bytes) {
  const auto [space, size] = reader.space();
  EXPECT_GT(size, 0U);
  const std::size_t count = std::min(size, bytes.size());
  std::memcpy(space, bytes.data(), count);
  reader.filled(count);
  return bytes.substr(count);
}

void put(FrameReader& reader, std::string_view bytes) {
  EXPECT_TRUE(put_some(reader, bytes).empty());
}

std::string three_frames() {
  std::string bytes;
  append_frame(bytes, 1, Input{"first"});
  append_frame(bytes, 2, Done{});
  append_frame(bytes, 0xffffffff, Input{std::string(900, 'x')});
  return bytes;
}

// Returns all frames as text, or "error".
std::string take_all(FrameReader& reader) {
  std::string text;
  for (;;) {
    const auto frame = reader.next();
    if (!frame) return text + "error";
    if (!*frame) return text;
    text += std::to_string((*frame)->conversation) + ":" +
            std::to_string(static_cast<int>((*frame)->type)) + ":" +
            std::to_string((*frame)->payload.size()) + " ";
  }
}

TEST(FrameReader, GivesFramesWhereverTheBytesAreSplit) {
  const std::string bytes = three_frames();
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    FrameReader reader(kMost);
    put(reader, std::string_view(bytes).substr(0, at));
    std::string text = take_all(reader);
    put(reader, std::string_view(bytes).substr(at));
    text += take_all(reader);
    EXPECT_EQ(text, "1:12:9 2:47:0 4294967295:12:904 ") << at;
  }
}

TEST(FrameReader, GivesFramesThatComeByteByByte) {
  FrameReader reader(kMost);
  std::string text;
  for (const char byte : three_frames()) {
    put(reader, std::string_view(&byte, 1));
    text += take_all(reader);
  }
  EXPECT_EQ(text, "1:12:9 2:47:0 4294967295:12:904 ");
}

TEST(FrameReader, KeepsThePayload) {
  FrameReader reader(kMost);
  put(reader, three_frames());
  const auto frame = reader.next();
  ASSERT_TRUE(frame && *frame);
  EXPECT_EQ(decode<Input>((*frame)->payload)->bytes, "first");
}

TEST(FrameReader, TakesTheLargestFrameAndNotOneByteMore) {
  for (const std::size_t size : {kMost, kMost + 1}) {
    FrameReader reader(kMost);
    std::string bytes;
    append_header(bytes, 1, MessageType::Input, size);
    put(reader, bytes + std::string(size, 'x'));
    EXPECT_EQ(take_all(reader), size == kMost ? "1:12:1000 " : "error");
  }
}

TEST(FrameReader, RefusesATooLargeFrameByItsHeaderAlone) {
  FrameReader reader(kMost);
  std::string bytes;
  append_header(bytes, 1, MessageType::Input, 0xffffffff);
  put(reader, bytes);
  const auto frame = reader.next();
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().code, ErrorCode::Corrupt);
  EXPECT_FALSE(reader.next());  // every call after an error fails
}

TEST(FrameReader, RefusesAHeaderWithAnythingInItsPadding) {
  for (const std::size_t at : {9U, 10U, 11U}) {
    std::string bytes = three_frames();
    bytes[at] = 1;
    FrameReader reader(kMost);
    put(reader, bytes);
    EXPECT_EQ(take_all(reader), "error") << at;
  }
}

TEST(FrameReader, NeedsNoMoreRoomThanItsLargestFrame) {
  FrameReader reader(kMostReplyPayload);
  std::string bytes;
  append_frame(bytes, 1, Input{std::string(200'000, 'x')});
  for (int i = 0; i < 50; ++i) {
    std::string text;
    for (std::string_view left = bytes; !left.empty(); text += take_all(reader)) {
      left = put_some(reader, left);
    }
    EXPECT_EQ(text, "1:12:200004 ");
    EXPECT_LT(reader.space().second, 2 * kMostReplyPayload);
  }
}

}  // namespace
}  // namespace nutshell::wire
