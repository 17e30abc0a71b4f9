#include "wire/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace nutshell::wire {

std::pair<char*, std::size_t> FrameReader::space() {
  // Most conversations are short: the room grows only after it was filled once.
  constexpr std::size_t kFirstSpace = 4U << 10U;
  constexpr std::size_t kLargeSpace = 64U << 10U;
  const bool was_filled = end_ == buffer_.size() && end_ > 0;
  if (begin_ == end_) begin_ = end_ = 0;
  const bool is_large = was_filled || buffer_.size() > kFirstSpace;
  const std::size_t least = is_large ? kLargeSpace : kFirstSpace;
  const std::size_t needed = std::max(wanted_, least);
  if (begin_ + needed > buffer_.size()) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    // Grows only to one frame's size, which next() has checked against the limit.
    const std::size_t room = is_large ? needed + least : needed;
    if (buffer_.size() < room) buffer_.resize(room);
  }
  return {buffer_.data() + end_, buffer_.size() - end_};
}

Result<std::optional<Frame>> FrameReader::next() {
  wanted_ = kHeaderBytes;
  const std::size_t available = end_ - begin_;
  if (available < kHeaderBytes) return std::optional<Frame>();
  const char* header = buffer_.data() + begin_;
  std::uint32_t size = 0;
  Frame frame;
  std::memcpy(&size, header, 4);
  std::memcpy(&frame.conversation, header + 4, 4);
  frame.type = static_cast<MessageType>(header[8]);
  if (size > most_payload_) {
    return failure(ErrorCode::Corrupt,
                   fmt::format("frame of {} bytes, more than {} allowed", size, most_payload_));
  }
  if (header[9] != 0 || header[10] != 0 || header[11] != 0) {
    return failure(ErrorCode::Corrupt, "malformed frame header");
  }
  wanted_ = kHeaderBytes + size;
  if (available < wanted_) return std::optional<Frame>();
  frame.payload = std::string_view(header + kHeaderBytes, size);
  begin_ += wanted_;
  wanted_ = kHeaderBytes;
  return std::optional<Frame>(frame);
}

void append_header(std::string& out, std::uint32_t conversation, MessageType type,
                   std::size_t payload_bytes) {
  const auto size = static_cast<std::uint32_t>(payload_bytes);
  out.append(reinterpret_cast<const char*>(&size), 4);
  out.append(reinterpret_cast<const char*>(&conversation), 4);
  out += static_cast<char>(type);
  out.append(3, '\0');
}

}  // namespace nutshell::wire
