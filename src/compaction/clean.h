// What a terminal would have left standing: no colours, no overwritten progress, valid UTF-8. Line
// n of the result is line n of the input, so that a number shown to a model is one it can recall
// by.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/parser.h"

namespace nutshell::compaction {

bool needs_cleaning(std::string_view line);
// One line, without its newline. Bytes that are no UTF-8 and control characters become "\x1b".
std::string clean_line(std::string_view line);

// Lines that needed no change are views into the bytes given, which must outlive this.
class CleanText {
 public:
  CleanText(std::string_view output, std::string_view error);

  [[nodiscard]] Lines lines() const { return lines_; }
  [[nodiscard]] std::string joined() const;  // with a newline behind every line

 private:
  void add(std::string_view bytes);
  std::string_view store(std::string_view text);

  std::vector<std::string_view> lines_;
  std::deque<std::string> chunks_;  // text of the lines that changed; filled, never grown
};

// Takes the next line off `bytes`, without its newline and the carriage return before it.
std::string_view take_line(std::string_view& bytes);

}  // namespace nutshell::compaction
