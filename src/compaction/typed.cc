#include "compaction/typed.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/body_line.h"
#include "compaction/canary.h"
#include "compaction/compactor.h"
#include "compaction/error_words.h"
#include "compaction/formatter.h"
#include "compaction/status_line.h"

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

// Returns the lines that look like errors and that the parser did not report, with their numbers.
void append_lost(Draft& draft, const CanaryReport& report, const TypedInput& input) {
  std::size_t used = estimate_tokens(draft.text);
  std::size_t shown = 0;
  for (const std::size_t at : report.missing) {
    const auto line = fmt::format("{}: {}\n", at + 1, shortened(as_data(input.lines[at])));
    used += estimate_tokens(line);
    if (used > input.max_tokens) break;
    draft.text += line;
    ++shown;
  }
  if (shown == report.missed) return;
  const std::size_t next = shown < report.missing.size() ? report.missing[shown] + 1 : 0;
  draft.omitted.push_back({"lines that look like errors", report.missed - shown});
  draft.text += omission_line({draft.omitted.back()}, recall_call(input.captured.recall_id, next));
}

CanaryReport lost_lines(const Facts& facts, const Formatted& formatted, const TypedInput& input) {
  const auto told = formatted.text + summary_text(facts);
  return scan_for_lost_lines(input.lines, {told, facts.accounted});
}

// Names what is left out after the call in the first line, or at the end if the text is cut.
Draft draft_of(const Formatted& formatted, std::string status, const TypedInput& input) {
  const auto& id = input.captured.recall_id;
  const bool is_whole = formatted.next == 0 && !id.empty();
  if (is_whole) status += omission_note(formatted.omitted);
  const auto last =
      is_whole ? "" : omission_line(formatted.omitted, recall_call(id, formatted.next));
  return {status + "\n" + formatted.text + last, "", formatted.omitted};
}

std::optional<Draft> try_parser(const Parser& parser, const TypedInput& input,
                                std::string& reason) {
  const ParserInput parser_input{input.command, input.lines, input.captured.ending};
  if (!parser.recognises(parser_input)) return std::nullopt;
  const auto facts = parser.parse(parser_input);
  if (facts) return draft_of(*facts, parser.name, input, reason);
  reason += fmt::format("{} refused; ", parser.name);
  return std::nullopt;
}

}  // namespace

std::optional<Draft> draft_of(const Facts& facts, std::string_view name, const TypedInput& input,
                              std::string& reason) {
  if (is_unexplained(facts, input.captured.ending)) {
    reason += fmt::format("{} has no reason for the failing status; ", name);
    return std::nullopt;
  }
  const std::size_t room = input.max_tokens > kFrameTokens ? input.max_tokens - kFrameTokens : 0;
  auto formatted = format_facts({facts, input.lines, room, input.captured.recall_id});
  auto draft = draft_of(formatted, status_line(input.captured, summary_text(facts)), input);
  draft.parser = name;
  if (facts.is_data || formatted.is_cut) return draft;
  const auto report = lost_lines(facts, formatted, input);
  if (report.is_bad()) {
    reason += fmt::format("{} missed {} of {} error lines; ", name, report.missed, report.hits);
    return std::nullopt;
  }
  append_lost(draft, report, input);
  return draft;
}

std::optional<Draft> render_typed(const TypedInput& input, std::string& reason) {
  for (const Parser& parser : parsers()) {
    if (auto draft = try_parser(parser, input, reason)) {
      reason += fmt::format("{} accounts for all of it", parser.name);
      return draft;
    }
  }
  reason += "no typed parser took it";
  return std::nullopt;
}

}  // namespace nutshell::compaction
