// Holds an output as a tool printed it, for tests of parsers.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/command_words.h"
#include "compaction/parser.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {

class GivenOutput {
 public:
  GivenOutput(std::string_view command, int exit_code, std::string text)
      : text_(std::move(text)), command_(command_words(command)) {
    lines_ = split(text_, '\n');
    if (!lines_.empty() && lines_.back().empty()) lines_.pop_back();
    ending_.outcome = Outcome::Exited;
    ending_.exit_code = exit_code;
  }
  GivenOutput(const GivenOutput&) = delete;
  GivenOutput& operator=(const GivenOutput&) = delete;

  [[nodiscard]] bool is_recognised_by(const Parser& parser) const {
    return parser.recognises({command_, lines_, ending_});
  }
  [[nodiscard]] std::optional<Facts> parsed_by(const Parser& parser) const {
    return parser.parse({command_, lines_, ending_});
  }

 private:
  std::string text_;
  CommandWords command_;
  std::vector<std::string_view> lines_;
  ExecResult ending_;
};

inline std::uint64_t total_of(const Facts& facts, std::string_view word) {
  for (const auto& total : facts.totals) {
    if (total.word == word) return total.count;
  }
  return 0;
}

inline std::vector<std::string> failure_names(const Facts& facts) {
  std::vector<std::string> names;
  for (const auto& failure : facts.failures)
    names.push_back(failure.name);
  return names;
}

// "src/a.cc:3:4 message", as many as there are diagnostics
inline std::vector<std::string> placed_messages(const Facts& facts) {
  std::vector<std::string> texts;
  for (const auto& diagnostic : facts.diagnostics)
    texts.push_back(to_text(diagnostic.where) + " " + diagnostic.message);
  return texts;
}

}  // namespace nutshell::compaction
