// Keeps account of the lines of one parse: every line becomes a fact, is shown as it is, or is
// counted under the name of its form. settle() refuses a parse that lost something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "compaction/facts.h"
#include "compaction/parser.h"

namespace nutshell::compaction {

// Points at a line. Reading past the end returns empty lines.
class LineCursor {
 public:
  explicit LineCursor(Lines lines) : lines_(lines) {}

  [[nodiscard]] bool done() const { return at_ >= lines_.size(); }
  [[nodiscard]] std::size_t position() const { return at_; }
  [[nodiscard]] std::string_view line() const { return peek(0); }
  [[nodiscard]] std::string_view peek(std::size_t ahead) const {
    return ahead < lines_.size() - at_ ? lines_[at_ + ahead] : std::string_view{};
  }
  void advance(std::size_t count = 1) {
    at_ = count < lines_.size() - at_ ? at_ + count : lines_.size();
  }
  void move_to(std::size_t position) { at_ = position; }

 private:
  Lines lines_;
  std::size_t at_ = 0;  // never beyond the end
};

class Ledger {
 public:
  // Adds a diagnostic. Counts it as repeated if one with the same place and words was added before.
  enum class Entry : std::uint8_t { New, Repeated };
  Entry add(Diagnostic diagnostic);
  void add(Failure failure) { facts_.failures.push_back(std::move(failure)); }
  // Adds to the total of the same word, because some tools print a sum for each part.
  void add_total(std::string_view word, std::uint64_t count);
  void keep(std::string_view line) { facts_.kept.emplace_back(line); }
  // Counts lines of a form that the parser names and that carry no fact but their number.
  void omit(std::string_view what, std::uint64_t lines = 1);
  // The same for a line that may look like an error and is none.
  void omit_line(std::string_view what, std::string_view line);
  // Marks a line whose fact is told in other words.
  void account(std::string_view line) { facts_.accounted.push_back(line); }
  // Sets aside a line of no form that the parser names: it may be the user's own program speaking,
  // or what a flag asked for. All such lines are shown, unless they make up so much of the output
  // that this is not the output the parser knows; then settle() refuses.
  void set_aside(std::string_view line);
  // Sets aside a line of lesser interest, such as the output of a passing test. The lines of one
  // kind are shown if they are few, and counted otherwise.
  void set_aside_as(std::string_view what, std::string line);

  // Begins a build step. Lines set aside from here on may be the reason why it failed.
  void begin_step();
  // Returns the last lines set aside in this step, if the step reported no error: a program may
  // state its reason in any words. They are no longer set aside.
  std::vector<std::string_view> take_last_words();

  // Notes that the tool's own structure was seen. Without it, settle() refuses.
  void recognise() { is_recognised_ = true; }
  // Adds to the number of failures that the tool announced. settle() refuses if fewer were added.
  void expect_failures(std::uint64_t count) { expected_failures_ += count; }

  [[nodiscard]] Facts& facts() { return facts_; }
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] std::uint64_t count_of(Severity severity) const;
  // Counts the diagnostic that was added last as a linker's: its total has a word of its own.
  void note_linker_error() { ++linker_errors_; }
  // Adds the totals "errors" and "warnings" as counted, if the tool printed none.
  void count_diagnostics();

  // Returns the facts; nullopt if the tool was not recognised, if failures are missing, if too many
  // lines are unknown, or if a command failed and no fact says why.
  std::optional<Facts> settle(std::string_view tool, const ParserInput& input);

 private:
  static constexpr std::size_t kFewAside = 40;     // unknown lines that any output may have
  static constexpr std::size_t kMostShare = 4;     // more may be a quarter of the output
  static constexpr std::size_t kMostAside = 2000;  // lines that a budget could show
  static constexpr std::size_t kFewOfKind = 10;
  static constexpr std::size_t kLastWords = 20;

  struct UnknownLine {
    std::uint64_t number;  // counted over all that were set aside
    std::string_view line;
  };

  struct MinorKind {
    std::string what;
    std::uint64_t count = 0;
    std::vector<std::string> first;  // at most kFewOfKind
  };

  [[nodiscard]] bool has_told_error() const;

  [[nodiscard]] bool is_mostly_unknown(Lines lines) const;
  void show_unknown();

  Facts facts_;
  std::vector<UnknownLine> unknown_;  // in order of appearance
  std::deque<UnknownLine> recent_;    // the last ones of this step
  std::vector<MinorKind> minor_;
  std::uint64_t aside_seen_ = 0;
  std::size_t step_diagnostics_ = 0;  // their number when the step began
  std::size_t step_kept_ = 0;
  std::unordered_set<std::string> seen_diagnostics_;
  std::uint64_t expected_failures_ = 0;
  std::uint64_t linker_errors_ = 0;
  bool is_recognised_ = false;
  bool is_doubtful_ = false;
};

// Fields not given keep their defaults.
Diagnostic make_diagnostic(Severity severity, Location where, std::string_view message);
Failure make_failure(std::string_view name, std::string_view word = "FAIL");

}  // namespace nutshell::compaction
