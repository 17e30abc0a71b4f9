// Lines from a descriptor, each of bounded length: what is longer is skipped up to its end, and
// told once. Not thread-safe.
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
  // Nothing: the end, or `interrupt` became readable. A last line without its newline is dropped:
  // nobody knows whether it is whole.
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
