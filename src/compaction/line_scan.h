// Reads an output of any size once, in bounded memory: keeps its error lines, its start and end,
// and one line of each kind.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compaction/error_words.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

struct SeenLine {
  std::size_t number = 0;   // counted from 1; standard error follows standard output
  std::string text;         // clean, shortened
  std::uint64_t count = 1;  // number of equal lines
};

class LineScan {
 public:
  static constexpr std::size_t kHead = 20;
  static constexpr std::size_t kTail = 40;

  void add(std::string_view bytes);
  void add(Lines clean);

  [[nodiscard]] std::size_t lines() const { return lines_; }
  // Whether most lines have a time or a level.
  [[nodiscard]] bool is_log() const { return log_lines_ >= 20 && log_lines_ * 10 >= filled_ * 6; }
  [[nodiscard]] const std::vector<SeenLine>& errors() const { return errors_.lines; }
  [[nodiscard]] const std::vector<SeenLine>& warnings() const { return warnings_.lines; }
  // The first line of every template, plain lines only.
  [[nodiscard]] const std::vector<SeenLine>& kinds() const { return kinds_.lines; }
  [[nodiscard]] const std::vector<SeenLine>& head() const { return head_; }
  [[nodiscard]] std::vector<SeenLine> tail() const;
  // Number of lines that were dropped because the lists above were full.
  [[nodiscard]] std::uint64_t unlisted_errors() const { return errors_.unlisted; }

 private:
  // Distinct lines in order of appearance, with counts.
  struct Distinct {
    std::vector<SeenLine> lines;
    std::unordered_map<std::uint64_t, std::size_t> known;
    std::uint64_t unlisted = 0;
  };

  void add_line(std::string_view raw, std::string_view line);
  void count_in(Distinct& distinct, std::uint64_t key, std::string_view line, std::size_t focus);

  std::size_t lines_ = 0;
  std::size_t filled_ = 0;
  std::size_t log_lines_ = 0;
  Distinct errors_;
  Distinct warnings_;
  Distinct kinds_;
  std::vector<SeenLine> head_;
  std::array<std::string_view, kTail> tail_;  // as captured; line n at n % kTail
};

}  // namespace nutshell::compaction
