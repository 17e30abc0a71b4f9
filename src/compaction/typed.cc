#include "compaction/typed.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/body_line.h"
#include "compaction/canary.h"
#include "compaction/compactor.h"
#include "compaction/error_words.h"
#include "compaction/formatter.h"
#include "compaction/status_line.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFrameTokens = 60;  // the status and the last line

// Returns whether the command failed and the facts hold no reason for it.
bool is_unexplained(const Facts& facts, const ExecResult& ending) {
  if (!is_failing(ending) || !facts.failures.empty()) return false;
  const auto is_error = [](const Diagnostic& d) {
    return d.severity == Severity::Error || d.severity == Severity::Unstated;
  };
  if (std::any_of(facts.diagnostics.begin(), facts.diagnostics.end(), is_error)) return false;
  // for grep, diff and the like, 1 means "none" or "different"
  if (facts.is_data && ending.outcome == Outcome::Exited && ending.exit_code == 1) return false;
  return std::none_of(facts.kept.begin(), facts.kept.end(),
                      [](const std::string& line) { return looks_like_error(line); });
}

// The lines below an error that are indented deeper, unless the text holds them already.
std::string body_of(std::size_t error, std::string_view text, Lines lines) {
  constexpr std::size_t kMostBody = 8;
  std::string body;
  const std::size_t indent = indent_of(lines[error]);
  for (std::size_t at = error + 1; at < lines.size() && at <= error + kMostBody; ++at) {
    if (is_blank(lines[at]) || indent_of(lines[at]) <= indent) break;
    if (!contains(text, trim(lines[at]))) body += shortened(as_data(lines[at])) + "\n";
  }
  return body;
}

// Adds the lines that look like errors and that the parser did not report, with their numbers.
void append_lost(Report& report, const CanaryReport& canary, const TypedInput& input) {
  std::size_t used = estimate_tokens(report.text);
  std::size_t shown = 0;
  for (const std::size_t at : canary.missing) {
    const auto line =
        fmt::format("{}: {}\n", input.first_line + at + 1, shortened(as_data(input.lines[at])));
    const auto body = body_of(at, report.text, input.lines);
    used += estimate_tokens(line) + estimate_tokens(body);
    if (used > input.max_tokens) break;
    report.text += line + body;
    ++shown;
  }
  if (shown == canary.missed) return;
  if (shown < canary.missing.size()) report.next = input.first_line + canary.missing[shown] + 1;
  report.omitted.push_back({"lines that look like errors", canary.missed - shown});
}

CanaryReport lost_lines(const Facts& facts, const Formatted& formatted, const TypedInput& input) {
  const auto told = formatted.text + summary_text(facts);
  return scan_for_lost_lines(input.lines, {told, facts.accounted});
}

std::optional<Report> try_parser(const Parser& parser, const TypedInput& input,
                                 std::string& reason) {
  const ParserInput parser_input{input.command, input.lines, input.captured.ending};
  if (!parser.recognises(parser_input)) return std::nullopt;
  const auto facts = parser.parse(parser_input);
  if (facts) return report_of(*facts, parser.name, input, reason);
  reason += fmt::format("{} refused; ", parser.name);
  return std::nullopt;
}

}  // namespace

std::optional<Report> report_of(const Facts& facts, std::string_view name, const TypedInput& input,
                                std::string& reason) {
  if (is_unexplained(facts, input.captured.ending)) {
    reason += fmt::format("{} has no reason for the failing status; ", name);
    return std::nullopt;
  }
  const std::size_t room = input.max_tokens > kFrameTokens ? input.max_tokens - kFrameTokens : 0;
  const auto formatted =
      format_facts({facts, input.lines, room, input.captured.recall_id, input.first_line});
  Report report{summary_text(facts), formatted.text, formatted.omitted, formatted.next,
                std::string(name)};
  if (facts.is_data || formatted.is_cut) return report;
  const auto canary = lost_lines(facts, formatted, input);
  if (canary.is_bad()) {
    reason += fmt::format("{} missed {} of {} error lines; ", name, canary.missed, canary.hits);
    return std::nullopt;
  }
  append_lost(report, canary, input);
  return report;
}

std::optional<Report> report_typed(const TypedInput& input, std::string& reason) {
  for (const Parser& parser : parsers()) {
    if (auto report = try_parser(parser, input, reason)) {
      reason += fmt::format("{} accounts for all of it", parser.name);
      return report;
    }
  }
  reason += "no typed parser took it";
  return std::nullopt;
}

Draft draft_of(Report report, const Captured& captured) {
  const auto& id = captured.recall_id;
  auto status = status_line(captured, report.summary);
  const bool is_whole = report.next == 0 && !id.empty();
  if (is_whole) status += omission_note(report.omitted);
  const auto last = is_whole ? "" : omission_line(report.omitted, recall_call(id, report.next));
  return {status + "\n" + report.text + last, std::move(report.parser), std::move(report.omitted)};
}

}  // namespace nutshell::compaction
