// The stored output of a command: all of it, or its beginning and its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nutshell {

inline constexpr std::size_t kMostHeadBytes = 8U << 20U;
inline constexpr std::size_t kMostTailBytes = 8U << 20U;

// Between `head` and `tail`, `missing` bytes were not kept.
struct StoredStream {
  std::string head;
  std::uint64_t missing = 0;
  std::uint64_t missing_lines = 0;  // ends of lines among them, as far as they were seen
  std::string tail;
  std::size_t most_head = kMostHeadBytes;
  std::size_t most_tail = kMostTailBytes;

  [[nodiscard]] std::size_t size() const { return head.size() + tail.size(); }
  void append(std::string_view bytes);
  // Counts bytes that were dropped before they came here.
  void skip(std::uint64_t bytes);
  // Cuts to the final size; append() keeps a little more, for speed.
  void trim();
  // From now on, holds no more than it holds already, but always a few pages.
  void stop_growing();
};

struct StoredOutput {
  std::string command;
  StoredStream output;
  StoredStream error;
};

// The text of a stream, with a line that says how many bytes are missing, if any.
std::string whole_text(const StoredStream& stream);

}  // namespace nutshell
