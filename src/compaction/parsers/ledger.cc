#include "compaction/parsers/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/parsers/text_scan.h"

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
  if (aside_lines_ < kFewAside) aside_.push_back(line);
  ++aside_lines_;
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
  const auto errors = count_of(Severity::Error);
  const auto warnings = count_of(Severity::Warning);
  if (errors > 0 && !says("errors")) add_total("errors", errors);
  if (warnings > 0 && !says("warnings")) add_total("warnings", warnings);
}

std::optional<Facts> Ledger::settle(std::string_view tool, const ExecResult& ending) {
  if (!is_recognised_ || is_doubtful_ || facts_.failures.size() < expected_failures_)
    return std::nullopt;
  const bool says_why =
      !facts_.failures.empty() || !facts_.kept.empty() || count_of(Severity::Error) > 0;
  if (has_failed(ending) && !says_why) return std::nullopt;
  facts_.tool = tool;
  if (aside_lines_ > most_aside_)
    omit("other lines", aside_lines_);
  else
    facts_.kept.insert(facts_.kept.end(), aside_.begin(), aside_.end());
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

bool has_failed(const ExecResult& ending) {
  return ending.outcome != Outcome::Exited || ending.exit_code != 0;
}

}  // namespace nutshell::compaction
