// Finds the lines, or with `multiline` the places, that a request's pattern matches. Not
// thread-safe: RE2 is, but threads that share an expression wait for each other.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "init/search/literal_scanner.h"
#include "wire/tool_schema.h"

namespace nutshell::init::search {

// Offsets in the text that was searched. The lines from `line_begin` to `line_end`, without the
// newline of the last, hold the match.
struct Match {
  std::size_t line_begin = 0;
  std::size_t line_end = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Matcher {
 public:
  static Result<std::unique_ptr<Matcher>> compile(const wire::Search& request);
  // Whether it needs no regular expression, and matches within lines only.
  static bool is_plain_text(const wire::Search& request);

  // Searches `text`, which consists of whole lines; the last may lack its newline.
  class Cursor {
   public:
    Cursor(const Matcher& matcher, std::string_view text);
    // Returns the next match; with `Places::Unknown` its begin and end are those of the line.
    enum class Places { Unknown, Wanted };
    std::optional<Match> next(Places places);

   private:
    std::optional<Match> next_by_literals(Places places);
    std::optional<Match> next_by_expression();
    std::optional<Match> next_multiline();
    std::size_t next_candidate();
    [[nodiscard]] Match line_around(std::size_t begin, std::size_t end) const;

    const Matcher& matcher_;
    std::string_view text_;
    std::size_t at_ = 0;
    std::vector<std::size_t> candidates_;  // the next place of each literal
    std::size_t literal_ = 0;              // the literal with the first of these places
  };

  // Counts matching lines; with multiline, runs of lines that hold a match.
  [[nodiscard]] std::uint64_t count(std::string_view text) const;
  [[nodiscard]] bool is_multiline() const { return is_multiline_; }

 private:
  Matcher() = default;

  std::unique_ptr<RE2> expression_;       // empty if a literal alone decides
  std::vector<LiteralScanner> literals_;  // every match has one of them; empty: unknown
  bool is_multiline_ = false;
  bool is_line_by_line_ = false;
};

}  // namespace nutshell::init::search
