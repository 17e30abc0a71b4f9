#include "compaction/parsers/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/body_line.h"
#include "compaction/error_words.h"
#include "compaction/status_line.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {

Ledger::Entry Ledger::add(Diagnostic diagnostic) {
  auto key = fmt::format("{}\n{}\n{}", static_cast<int>(diagnostic.severity),
                         to_text(diagnostic.where), diagnostic.message);
  for (const auto& line : diagnostic.detail)
    key.append("\n").append(line);
  if (!seen_diagnostics_.insert(std::move(key)).second) {
    omit("repeated diagnostics");
    return Entry::Repeated;
  }
  facts_.diagnostics.push_back(std::move(diagnostic));
  return Entry::New;
}

void Ledger::add_total(std::string_view word, std::uint64_t count) {
  for (auto& total : facts_.totals) {
    if (total.word != word) continue;
    total.count += count;
    return;
  }
  constexpr std::size_t kMostTotals = 64;  // no tool has that many: it is something else
  if (facts_.totals.size() >= kMostTotals)
    is_doubtful_ = true;
  else
    facts_.totals.push_back({std::string(word), count});
}

void Ledger::omit(std::string_view what, std::uint64_t lines) {
  if (lines == 0) return;
  for (auto& omission : facts_.omitted) {
    if (omission.what != what) continue;
    omission.lines += lines;
    return;
  }
  facts_.omitted.push_back({std::string(what), lines});
}

void Ledger::omit_line(std::string_view what, std::string_view line) {
  omit(what);
  account(line);
}

void Ledger::set_aside(std::string_view line) {
  const UnknownLine aside{aside_seen_++, line};
  unknown_.push_back(aside);
  if (recent_.size() == kLastWords) recent_.pop_front();
  recent_.push_back(aside);
}

void Ledger::set_aside_as(std::string_view what, std::string line) {
  auto kind = std::ranges::find(minor_, what, &MinorKind::what);
  if (kind == minor_.end()) kind = minor_.insert(kind, {std::string(what), 0, {}});
  if (kind->count++ < kFewOfKind) kind->first.push_back(std::move(line));
}

void Ledger::begin_step() {
  recent_.clear();
  step_diagnostics_ = facts_.diagnostics.size();
  step_kept_ = facts_.kept.size();
}

bool Ledger::has_told_error() const {
  const auto is_error = [](const Diagnostic& diagnostic) {
    return diagnostic.severity == Severity::Error;
  };
  const auto first = facts_.diagnostics.begin() + static_cast<std::ptrdiff_t>(step_diagnostics_);
  return std::any_of(first, facts_.diagnostics.end(), is_error) ||
         std::any_of(facts_.kept.begin() + static_cast<std::ptrdiff_t>(step_kept_),
                     facts_.kept.end(), looks_like_error);
}

std::vector<std::string_view> Ledger::take_last_words() {
  std::vector<std::string_view> words;
  if (!has_told_error()) {
    for (const UnknownLine& aside : recent_)
      words.push_back(aside.line);
    const auto first = recent_.empty() ? aside_seen_ : recent_.front().number;
    while (!unknown_.empty() && unknown_.back().number >= first)
      unknown_.pop_back();
  }
  begin_step();
  return words;
}

std::uint64_t Ledger::count_of(Severity severity) const {
  std::uint64_t count = 0;
  for (const auto& diagnostic : facts_.diagnostics)
    count += diagnostic.severity == severity ? 1 : 0;
  return count;
}

void Ledger::count_diagnostics() {
  const auto says = [this](std::string_view word) {
    return std::ranges::any_of(facts_.totals,
                               [word](const Total& total) { return total.word == word; });
  };
  const auto errors = count_of(Severity::Error) - linker_errors_;
  const auto warnings = count_of(Severity::Warning);
  if (errors > 0 && !says("errors")) add_total("errors", errors);
  if (linker_errors_ > 0) add_total("linker errors", linker_errors_);
  if (warnings > 0 && !says("warnings")) add_total("warnings", warnings);
}

// Counts equal lines in a row once, as they are shown. A very long line, such as a report in JSON,
// would be cut, so it counts by its bytes.
bool Ledger::is_mostly_unknown(Lines lines) const {
  std::size_t unknown = 0;
  std::size_t cut = 0;
  for (std::size_t at = 0; at < unknown_.size(); ++at) {
    unknown += at == 0 || unknown_[at].line != unknown_[at - 1].line ? 1 : 0;
    cut += unknown_[at].line.size() > kLongestLine ? unknown_[at].line.size() : 0;
  }
  std::size_t bytes = 0;
  for (const auto line : cut > 0 ? lines : Lines{})
    bytes += line.size();
  if (cut * kMostShare > bytes) return true;
  if (unknown <= kFewAside) return false;
  const auto filled = std::ranges::count_if(lines, [](auto line) { return !is_blank(line); });
  return unknown * kMostShare > static_cast<std::size_t>(filled);
}

// Shows the lines set aside in order; a line that follows its equal is counted.
void Ledger::show_unknown() {
  for (std::size_t at = 0; at < unknown_.size();) {
    std::size_t end = at + 1;
    while (end < unknown_.size() && unknown_[end].line == unknown_[at].line)
      ++end;
    if (facts_.kept.size() >= kMostAside) return omit("other lines", unknown_.size() - at);
    const auto count = end - at == 1 ? "" : fmt::format(" (×{})", end - at);
    facts_.kept.push_back(std::string(unknown_[at].line) + count);
    omit("repeated lines", end - at - 1);
    at = end;
  }
}

std::optional<Facts> Ledger::settle(std::string_view tool, const ParserInput& input) {
  if (!is_recognised_ || is_doubtful_ || facts_.failures.size() < expected_failures_ ||
      is_mostly_unknown(input.lines))
    return std::nullopt;
  const bool is_failed = is_failing(input.ending);
  const bool says_why =
      !facts_.failures.empty() || !facts_.kept.empty() || count_of(Severity::Error) > 0;
  if (is_failed && !says_why) return std::nullopt;
  facts_.tool = tool;
  for (auto& kind : minor_) {
    if (kind.count > kFewOfKind)
      omit(kind.what, kind.count);
    else
      std::ranges::move(kind.first, std::back_inserter(facts_.kept));
  }
  show_unknown();
  return std::move(facts_);
}

Diagnostic make_diagnostic(Severity severity, Location where, std::string_view message) {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.where = std::move(where);
  diagnostic.message = message;
  return diagnostic;
}

Failure make_failure(std::string_view name, std::string_view word) {
  Failure failure;
  failure.name = name;
  failure.word = word;
  return failure;
}

}  // namespace nutshell::compaction
