#include "compaction/generic.h"

#include <fmt/format.h>

#include <map>

#include "compaction/body_line.h"
#include "compaction/compactor.h"
#include "compaction/formatter.h"
#include "compaction/line_scan.h"
#include "compaction/line_template.h"
#include "compaction/status_line.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFoldFrom = 4;  // a shorter run is left as it is

// Lines picked in order of importance, printed in order of appearance.
class Excerpt {
 public:
  explicit Excerpt(std::size_t max_tokens) : left_(max_tokens) {}

  // Takes from `lines` while there is room, at most `share` of it.
  void take(const std::vector<SeenLine>& lines, double share, std::string_view mark = "") {
    const auto limit = static_cast<std::size_t>(static_cast<double>(left_) * share);
    std::size_t used = 0;
    for (const SeenLine& line : lines) {
      if (chosen_.contains(line.number)) continue;
      auto text = as_data(line.text);
      if (line.count > 1) text += fmt::format(" (×{}{})", line.count, mark);
      const std::size_t tokens = estimate_tokens(text) + kNumberTokens;
      if (used + tokens > limit) {
        missed_ += line.count;
        if (first_missed_ == 0) first_missed_ = line.number;
        continue;
      }
      used += tokens;
      told_ += mark.empty() ? line.count : 1;
      chosen_.emplace(line.number, std::move(text));
    }
    left_ -= used;
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    std::size_t expected = 1;
    for (const auto& [number, line] : chosen_) {
      if (number != expected) text += fmt::format("{}: ", number);
      text += line;
      text += '\n';
      expected = number + 1;
    }
    return text;
  }

  [[nodiscard]] std::size_t told() const { return told_; }
  [[nodiscard]] std::size_t missed() const { return missed_; }
  // The line to continue from: the first that did not fit, or the first gap.
  [[nodiscard]] std::size_t next() const {
    if (first_missed_ != 0) return first_missed_;
    std::size_t expected = 1;
    for (const auto& [number, line] : chosen_) {
      if (number != expected) break;
      ++expected;
    }
    return expected;
  }

 private:
  static constexpr std::size_t kNumberTokens = 4;

  std::map<std::size_t, std::string> chosen_;
  std::size_t left_;
  std::size_t told_ = 0;
  std::size_t missed_ = 0;
  std::size_t first_missed_ = 0;
};

std::string rounded(std::size_t tokens) {
  return tokens < 10000 ? std::to_string(tokens) : fmt::format("{}k", (tokens + 500) / 1000);
}

// The end of a log; its kinds of lines are shown before it.
std::vector<SeenLine> end_of_log(const LineScan& scan) {
  constexpr std::size_t kLines = 20;
  auto tail = scan.tail();
  if (tail.size() > kLines) tail.erase(tail.begin(), tail.end() - kLines);
  return tail;
}

std::size_t run_length(Lines lines, std::size_t at) {
  std::size_t end = at + 1;
  while (end < lines.size() && lines[end] == lines[at])
    ++end;
  return end - at;
}

}  // namespace

bool is_log(Lines lines) {
  std::size_t filled = 0;
  std::size_t logged = 0;
  for (const auto line : lines) {
    if (line.empty()) continue;
    ++filled;
    if (is_log_line(line)) ++logged;
  }
  return logged >= 20 && logged * 10 >= filled * 6;
}

Draft render_whole(const Captured& captured, Lines lines) {
  Draft draft;
  std::string body;
  std::uint64_t folded = 0;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t run = lines[at].empty() ? 1 : run_length(lines, at);
    body += as_data(lines[at]);
    if (run >= kFoldFrom) body += fmt::format(" (×{})", run);
    body += '\n';
    const std::size_t step = run >= kFoldFrom ? run : 1;
    folded += step - 1;
    at += step;
  }
  if (folded > 0) draft.omitted.push_back({"repeated lines", folded});
  if (folded > 0 || is_failing(captured.ending)) {
    draft.text = folded > 0 ? status_line(captured, "") : ending_text(captured.ending);
    draft.text += '\n';
  }
  draft.text += body;
  draft.parser = "whole";
  return draft;
}

std::size_t whole_bytes(Lines lines) {
  std::size_t bytes = 0;
  std::string_view before;
  for (const auto line : lines) {
    if (line != before) bytes += line.size() + 1;
    before = line;
  }
  return bytes;
}

Draft render_excerpt(const ExcerptInput& input) {
  const Captured& captured = input.captured;
  LineScan scan;
  if (input.lines) {
    scan.add(*input.lines);
  } else {
    scan.add(captured.output);
    scan.add(captured.error);
  }
  constexpr std::size_t kFrameTokens = 80;  // the status and the last line
  Excerpt excerpt(input.max_tokens > kFrameTokens ? input.max_tokens - kFrameTokens : 0);
  const bool is_log = input.text_kind == TextKind::Log || scan.is_log();
  excerpt.take(scan.errors(), 0.7);
  const std::size_t hidden_errors = excerpt.missed() + scan.unlisted_errors();
  excerpt.take(scan.warnings(), 0.5);
  if (is_log) excerpt.take(scan.kinds(), 0.7, " alike");
  excerpt.take(is_log ? end_of_log(scan) : scan.tail(), is_log ? 0.3 : 0.6);
  if (!is_log) excerpt.take(scan.head(), 1.0);

  const auto summary = fmt::format(
      "{} lines, {} tokens; shown: error lines, {}", scan.lines(), rounded(input.raw_tokens),
      is_log ? "one line of each kind, the end" : "the start, the end");
  Draft draft{status_line(captured, summary) + "\n" + excerpt.text(), "generic", {}};
  const std::size_t left_out = scan.lines() - std::min<std::size_t>(scan.lines(), excerpt.told());
  if (hidden_errors > 0) draft.omitted.push_back({"lines that look like errors", hidden_errors});
  draft.omitted.push_back(
      {hidden_errors > 0 ? "other lines" : "lines", left_out - std::min(left_out, hidden_errors)});
  draft.text += omission_line(draft.omitted, recall_call(captured.recall_id, excerpt.next()));
  return draft;
}

}  // namespace nutshell::compaction
