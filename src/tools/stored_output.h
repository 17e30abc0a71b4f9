// What is kept of a command's output: all of it, or its beginning and its end.
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

  void append(std::string_view bytes);
  // Bytes that nobody has: they were dropped before they came here.
  void skip(std::uint64_t bytes);
  // Down to what is kept in the end; append() keeps a little more, for speed.
  void trim();
};

struct StoredOutput {
  std::string command;
  StoredStream output;
  StoredStream error;
};

// With one line that says so where bytes are missing.
std::string whole_text(const StoredStream& stream);

}  // namespace nutshell
