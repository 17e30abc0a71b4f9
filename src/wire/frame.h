// Frames: a message of one conversation on the shared stream.
//
//   u32 payload bytes · u32 conversation · u8 message type · 3 bytes zero · payload
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/codec.h"
#include "wire/schema.h"

namespace nutshell::wire {

inline constexpr std::size_t kHeaderBytes = 12;
// An exec may carry Linux's 2 MiB of arguments; nothing that comes out of a sandbox is that large.
inline constexpr std::size_t kMostRequestPayload = 4U << 20U;
inline constexpr std::size_t kMostReplyPayload = 256U << 10U;
inline constexpr std::size_t kMostData = 64U << 10U;  // bytes of output or file in one frame

struct Frame {
  std::uint32_t conversation = 0;
  MessageType type = MessageType::Hello;
  std::string_view payload;  // valid until the next call of the reader it came from
};

// Takes bytes as they come and gives whole frames. After a malformed frame every call fails.
class FrameReader {
 public:
  explicit FrameReader(std::size_t most_payload) : most_payload_(most_payload) {}

  // Returns room to read into; filled() tells how much was read.
  std::pair<char*, std::size_t> space();
  void filled(std::size_t count) { end_ += count; }

  Result<std::optional<Frame>> next();

 private:
  std::size_t most_payload_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t wanted_ = kHeaderBytes;
};

void append_header(std::string& out, std::uint32_t conversation, MessageType type,
                   std::size_t payload_bytes);

template <typename Message>
void append_frame(std::string& out, std::uint32_t conversation, Message message) {
  const std::size_t start = out.size();
  append_header(out, conversation, Message::kType, 0);
  Encoder encoder(out);
  message.fields(encoder);
  const auto size = static_cast<std::uint32_t>(out.size() - start - kHeaderBytes);
  std::memcpy(out.data() + start, &size, sizeof size);
}

}  // namespace nutshell::wire
