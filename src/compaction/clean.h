// Removes colours and overwritten progress and makes the text valid UTF-8, as a terminal would show
// it. Line n of the result is line n of the input, so that a model can recall by line number.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/parser.h"

namespace nutshell::compaction {

bool needs_cleaning(std::string_view line);
// Cleans one line without its newline. Invalid UTF-8 and control characters become "\x1b" and the
// like.
std::string clean_line(std::string_view line);

// Lines that needed no change are views of the input, which must outlive this object.
class CleanText {
 public:
  CleanText(std::string_view output, std::string_view error);

  [[nodiscard]] Lines lines() const { return lines_; }
  [[nodiscard]] std::size_t error_line() const { return error_line_; }  // where `error` begins
  [[nodiscard]] std::string joined() const;  // with a newline after every line

 private:
  void add(std::string_view bytes);
  std::string_view store(std::string_view text);

  std::vector<std::string_view> lines_;
  std::size_t error_line_ = 0;
  std::deque<std::string> chunks_;  // text of the lines that changed; filled, never grown
};

// Takes the next line off `bytes`, without its newline and the carriage return before it.
std::string_view take_line(std::string_view& bytes);

}  // namespace nutshell::compaction
