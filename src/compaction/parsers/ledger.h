// The accounts of one parse: every line of the output ends in a fact, among the kept lines or in a
// count of omitted ones. Settling the ledger is where a parser that lost something is refused.
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

// A place in the lines. Reading past the end gives empty lines.
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
  // Another diagnostic, unless one of the same place and words is there: then that is counted as
  // repeated. Says which of the two happened.
  enum class Entry : std::uint8_t { New, Repeated };
  Entry add(Diagnostic diagnostic);
  void add(Failure failure) { facts_.failures.push_back(std::move(failure)); }
  // Adds to a total of the same word: a tool that sums up in parts is summed up.
  void add_total(std::string_view word, std::uint64_t count);
  void keep(std::string_view line) { facts_.kept.emplace_back(line); }
  void omit(std::string_view what, std::uint64_t lines = 1);
  // One line, of which the parser knows that nothing in it is news.
  void omit_line(std::string_view what, std::string_view line);
  // A line whose words are not those of the fact that tells it.
  void account(std::string_view line) { facts_.accounted.push_back(line); }
  // A line that says nothing known. A few of them are kept, as tools run the user's own programs,
  // whose words may be the answer; many are only counted.
  void set_aside(std::string_view line);

  // What is said from here on may be the reason why a step of a build failed.
  void begin_step();
  // The last lines set aside since, when no error was told since: a step that failed says why in
  // its own words. They are no longer counted as left out.
  std::vector<std::string_view> take_last_words();

  // The tool's own structure was seen; without it there is nothing to settle.
  void recognise() { is_recognised_ = true; }
  // The tool spoke of that many more failures, which must be among those added.
  void expect_failures(std::uint64_t count) { expected_failures_ += count; }

  [[nodiscard]] Facts& facts() { return facts_; }
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] std::uint64_t count_of(Severity severity) const;
  // "errors" and "warnings", as counted, when the tool has not said them.
  void count_diagnostics();

  // The facts; nothing when the tool was not recognised, when failures are missing, or when a
  // command failed and no fact says why.
  std::optional<Facts> settle(std::string_view tool, const ExecResult& ending);

 private:
  static constexpr std::size_t kFewAside = 12;
  static constexpr std::size_t kLastWords = 20;

  struct Aside {
    std::uint64_t number;  // counted over all that were set aside
    std::string_view line;
  };

  [[nodiscard]] bool has_told_error() const;

  Facts facts_;
  std::vector<Aside> aside_;  // the first ones, as many as may be kept
  std::deque<Aside> recent_;  // the last ones of the step
  std::uint64_t aside_seen_ = 0;
  std::uint64_t aside_lines_ = 0;     // of them, those that are told nowhere
  std::size_t step_diagnostics_ = 0;  // there were that many when the step began
  std::size_t step_kept_ = 0;
  std::unordered_set<std::string> seen_diagnostics_;
  std::uint64_t expected_failures_ = 0;
  bool is_recognised_ = false;
  bool is_doubtful_ = false;
};

// A field left out is a field at its default.
Diagnostic make_diagnostic(Severity severity, Location where, std::string_view message);
Failure make_failure(std::string_view name, std::string_view word = "FAIL");

bool has_failed(const ExecResult& ending);

}  // namespace nutshell::compaction
