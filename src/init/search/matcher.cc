#include "init/search/matcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "init/search/required_literals.h"

namespace nutshell::init::search {
namespace {

constexpr std::size_t kMostPatternBytes = 64U << 10U;
constexpr std::int64_t kMostExpressionMemory = 32LL << 20U;
constexpr std::size_t kNowhere = std::string_view::npos;

RE2::Options options_for(const wire::Search& request) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMostExpressionMemory);
  options.set_case_sensitive(request.ignores_case == 0);
  options.set_never_nl(request.is_multiline == 0);
  return options;
}

// Letters whose other cases are not all ASCII need Unicode's folding.
bool folds_simply(std::string_view literal) {
  return std::none_of(literal.begin(), literal.end(), [](char byte) {
    return static_cast<signed char>(byte) < 0 || std::strchr("kKsS", byte) != nullptr;
  });
}

// Returns the texts that the pattern matches, if it is only a list of texts.
std::vector<std::string_view> plain_texts(const wire::Search& request) {
  constexpr std::size_t kMostTexts = 8;  // each is a pass over what is searched
  const std::string_view special = request.is_literal != 0 ? "\n" : "\\^$.?*+()[]{}\n";
  std::string_view rest = request.pattern;
  if (rest.find_first_of(special) != kNowhere) return {};
  if (request.ignores_case != 0 && !folds_simply(rest)) return {};
  std::vector<std::string_view> texts;
  for (;;) {
    const std::size_t bar = request.is_literal != 0 ? kNowhere : rest.find('|');
    texts.push_back(rest.substr(0, bar));
    if (texts.back().empty() || texts.size() > kMostTexts) return {};
    if (bar == kNowhere) return texts;
    rest.remove_prefix(bar + 1);
  }
}

std::size_t line_end_after(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

}  // namespace

Result<std::unique_ptr<Matcher>> Matcher::compile(const wire::Search& request) {
  if (request.pattern.size() > kMostPatternBytes) {
    return failure(ErrorCode::InvalidArgument, "the pattern is longer than 64 KiB");
  }
  std::unique_ptr<Matcher> matcher(new Matcher());
  matcher->is_multiline_ = request.is_multiline != 0;
  const auto letter_case = request.ignores_case != 0 ? LetterCase::Folded : LetterCase::Exact;
  for (const std::string_view text : plain_texts(request))
    matcher->literals_.emplace_back(text, letter_case);
  if (!matcher->literals_.empty()) return matcher;
  const RE2::Options options = options_for(request);
  const std::string pattern =
      "(?m)" + (request.is_literal != 0 ? RE2::QuoteMeta(request.pattern) : request.pattern);
  matcher->expression_ = std::make_unique<RE2>(pattern, options);
  if (!matcher->expression_->ok()) {
    return failure(ErrorCode::InvalidArgument, matcher->expression_->error());
  }
  for (const std::string& literal : required_literals(pattern, options))
    matcher->literals_.emplace_back(literal, LetterCase::Folded);
  // The text begins and ends at line ends, wherever it was cut.
  matcher->is_line_by_line_ = !matcher->is_multiline_ &&
                              (pattern.find("\\A") != kNowhere || pattern.find("\\z") != kNowhere);
  return matcher;
}

bool Matcher::is_plain_text(const wire::Search& request) {
  return request.is_multiline == 0 && request.pattern.size() <= kMostPatternBytes &&
         !plain_texts(request).empty();
}

std::uint64_t Matcher::count(std::string_view text) const {
  Cursor cursor(*this, text);
  std::uint64_t matches = 0;
  while (cursor.next(Cursor::Places::Unknown))
    ++matches;
  return matches;
}

Matcher::Cursor::Cursor(const Matcher& matcher, std::string_view text)
    : matcher_(matcher), text_(text) {
  for (const LiteralScanner& literal : matcher.literals_)
    candidates_.push_back(literal.find(text, 0));
}

Match Matcher::Cursor::line_around(std::size_t begin, std::size_t end) const {
  const std::size_t newline = begin == 0 ? kNowhere : text_.rfind('\n', begin - 1);
  return {newline == kNowhere ? 0 : newline + 1, line_end_after(text_, end), begin, end};
}

std::optional<Match> Matcher::Cursor::next(Places places) {
  if (at_ >= text_.size()) return std::nullopt;
  if (matcher_.is_multiline_ && matcher_.expression_) return next_multiline();
  if (!candidates_.empty()) return next_by_literals(places);
  return next_by_expression();
}

// Returns the first place of any literal at or after the cursor.
std::size_t Matcher::Cursor::next_candidate() {
  std::size_t first = kNowhere;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    std::size_t& candidate = candidates_[i];
    if (candidate < at_) candidate = matcher_.literals_[i].find(text_, at_);
    if (candidate < first) literal_ = i;
    first = std::min(first, candidate);
  }
  return first;
}

std::optional<Match> Matcher::Cursor::next_by_literals(Places places) {
  for (;;) {
    const std::size_t candidate = next_candidate();
    if (candidate == kNowhere) break;
    Match match = line_around(candidate, candidate);
    at_ = match.line_end + 1;
    if (!matcher_.expression_) {
      match.end = candidate + matcher_.literals_[literal_].literal().size();
      return match;
    }
    const re2::StringPiece line(text_.data() + match.line_begin, match.line_end - match.line_begin);
    re2::StringPiece found;
    const int groups = places == Places::Wanted ? 1 : 0;
    if (!matcher_.expression_->Match(line, 0, line.size(), RE2::UNANCHORED, &found, groups)) {
      if (at_ >= text_.size()) break;
      continue;
    }
    if (groups > 0) {
      match.begin = static_cast<std::size_t>(found.data() - text_.data());
      match.end = match.begin + found.size();
    }
    return match;
  }
  at_ = text_.size();
  return std::nullopt;
}

// No match spans a newline (never_nl), so the whole text can be searched at once.
std::optional<Match> Matcher::Cursor::next_by_expression() {
  while (at_ < text_.size()) {
    const std::size_t end = matcher_.is_line_by_line_ ? line_end_after(text_, at_) : text_.size();
    const re2::StringPiece text(text_.data() + at_, end - at_);
    re2::StringPiece found;
    if (matcher_.expression_->Match(text, 0, text.size(), RE2::UNANCHORED, &found, 1)) {
      const auto begin = static_cast<std::size_t>(found.data() - text_.data());
      // An empty match behind the last newline is in no line.
      if (begin == text_.size() && text_.back() == '\n') break;
      const Match match = line_around(begin, begin + found.size());
      at_ = match.line_end + 1;
      return match;
    }
    at_ = end + 1;
  }
  at_ = text_.size();
  return std::nullopt;
}

std::optional<Match> Matcher::Cursor::next_multiline() {
  const re2::StringPiece text(text_.data(), text_.size());
  re2::StringPiece found;
  const bool has_chance = candidates_.empty() || next_candidate() != kNowhere;
  if (!has_chance ||
      !matcher_.expression_->Match(text, at_, text.size(), RE2::UNANCHORED, &found, 1)) {
    at_ = text_.size();
    return std::nullopt;
  }
  const auto begin = static_cast<std::size_t>(found.data() - text_.data());
  const std::size_t end = begin + found.size();
  if (begin == text_.size() && text_.back() == '\n') {
    at_ = text_.size();
    return std::nullopt;
  }
  // A match that ends in a newline does not reach into the next line.
  Match match = line_around(begin, !found.empty() && text_[end - 1] == '\n' ? end - 1 : end);
  match.end = end;
  at_ = match.line_end + 1;  // a line is shown once
  return match;
}

}  // namespace nutshell::init::search
