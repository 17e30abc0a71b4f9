// Reads lines of bounded length from a descriptor; a longer line is skipped and reported once. Not
// thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace nutshell::mcp {

class LineReader {
 public:
  LineReader(int fd, std::size_t most) : fd_(fd), most_(most) {}

  struct Line {
    std::string text;
    bool is_too_long = false;  // then the text is empty
  };
  // nullopt at the end, or when `interrupt` became readable. A last line without a newline is
  // dropped, because it may be incomplete.
  Result<std::optional<Line>> next(int interrupt);

 private:
  std::optional<Line> take();

  int fd_;
  std::size_t most_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of the line that is not yet taken
  std::size_t scanned_ = 0;  // no newline before this
  bool is_skipping_ = false;
};

}  // namespace nutshell::mcp
