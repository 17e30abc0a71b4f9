#include "compaction/compactor.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/chain.h"
#include "compaction/clean.h"
#include "compaction/command_words.h"
#include "compaction/generic.h"
#include "compaction/native.h"
#include "compaction/outline.h"
#include "compaction/own_renderers.h"
#include "compaction/source_text.h"
#include "compaction/status_line.h"
#include "compaction/text_scan.h"
#include "compaction/typed.h"
#include "compaction/user_renderer.h"

namespace nutshell::compaction {
namespace {

// Larger outputs are not kept in memory as lines: one pass chooses what is shown.
constexpr std::size_t kMostTypedBytes = 32U << 20U;
constexpr std::size_t kMostTypedLines = 2U << 20U;

// A larger output that no parser knows is read once, for its error lines, start and end.
constexpr std::size_t kMostOutlined = 8U << 20U;

// Output below the first bound is never reshaped, below the second only for a large gain.
constexpr std::size_t kTinyTokens = 80;
constexpr std::size_t kSmallTokens = 300;
constexpr double kSmallGain = 0.6;   // the most that may be left of a small output
constexpr double kLeastGain = 0.95;  // and of a larger one: the estimate errs by as much
constexpr double kLogGain = 0.8;
constexpr std::size_t kFarOver = 2;  // budgets: more is not shown whole, by any estimate

bool is_huge(const Captured& captured) {
  const auto bytes = captured.output.size() + captured.error.size();
  if (bytes > kMostTypedBytes) return true;
  if (bytes <= kMostTypedLines) return false;  // a line has a byte at least
  const auto lines = std::count(captured.output.begin(), captured.output.end(), '\n') +
                     std::count(captured.error.begin(), captured.error.end(), '\n');
  return static_cast<std::size_t>(lines) > kMostTypedLines;
}

Rendering finish(Draft draft, std::string reason, std::size_t raw_tokens) {
  const std::size_t tokens = estimate_tokens(draft.text);
  return {std::move(draft.text),
          std::move(draft.parser),
          std::move(reason),
          std::move(draft.omitted),
          raw_tokens,
          tokens};
}

Draft no_output(const Captured& captured) {
  const bool is_failed = is_failing(captured.ending);
  return {
      is_failed ? ending_text(captured.ending) + ", no output\n" : "ok, no output\n", "empty", {}};
}

std::optional<Draft> render_by_user(const TypedInput& input, const RenderOptions& options,
                                    std::string& reason) {
  const ParserInput parser_input{input.command, input.lines, input.captured.ending};
  for (const UserRenderer& renderer : options.renderers) {
    const bool is_asked_for = renderer.name() == options.only_renderer;
    if (!options.only_renderer.empty() && !is_asked_for) continue;
    if (!is_asked_for && !renderer.matches(parser_input)) continue;
    const auto name = fmt::format("user:{}", renderer.name());
    auto report = report_of(renderer.apply(parser_input), name, input, reason);
    if (!report) continue;
    reason += fmt::format("{} {}", name, is_asked_for ? "asked for" : "matches");
    return draft_of(std::move(*report), input.captured);
  }
  return std::nullopt;
}

// The project's own renderer files are asked after the typed parsers.
std::optional<Draft> render_by_own(const TypedInput& input, std::string& reason) {
  const ParserInput parser_input{input.command, input.lines, input.captured.ending};
  for (const UserRenderer& renderer : own_renderers()) {
    if (!renderer.matches(parser_input)) continue;
    auto report = report_of(renderer.apply(parser_input), renderer.name(), input, reason);
    if (!report) continue;
    reason += fmt::format("; {} matches", renderer.name());
    return draft_of(std::move(*report), input.captured);
  }
  return std::nullopt;
}

class Compaction {
 public:
  Compaction(const Captured& captured, const RenderOptions& options)
      : captured_(captured),
        options_(options),
        raw_tokens_(estimate_tokens(captured.output) + estimate_tokens(captured.error)) {}

  Rendering run() {
    if (options_.style == Style::Native)
      return finish(render_native(captured_, options_.max_tokens), "asked for", raw_tokens_);
    if (is_huge(captured_)) {
      return finish(render_excerpt({captured_, options_.max_tokens, raw_tokens_, std::nullopt,
                                    TextKind::Unknown}),
                    "too large for the typed parsers", raw_tokens_);
    }
    const CleanText text(captured_.output, captured_.error);
    const bool is_empty = std::all_of(text.lines().begin(), text.lines().end(),
                                      [](std::string_view line) { return is_blank(line); });
    if (is_empty) return finish(no_output(captured_), "nothing was printed", raw_tokens_);
    error_line_ = text.error_line();
    return compact(text.lines());
  }

 private:
  Rendering compact(Lines lines) {
    const std::size_t expected = expected_tokens(lines);
    if (expected > kFarOver * options_.max_tokens) return compact(lines, {}, expected);
    const auto whole = render_whole(captured_, lines);
    const std::size_t whole_tokens = estimate_tokens(whole.text);
    if (whole_tokens < kTinyTokens && options_.only_renderer.empty())
      return finish(whole, "too small to gain from", raw_tokens_);
    return compact(lines, whole, whole_tokens);
  }

  // Estimates the output with repeated lines folded, without building that text.
  [[nodiscard]] std::size_t expected_tokens(Lines lines) const {
    const auto bytes = static_cast<double>(captured_.output.size() + captured_.error.size());
    const double share = static_cast<double>(whole_bytes(lines)) / std::max(1.0, bytes);
    return static_cast<std::size_t>(static_cast<double>(raw_tokens_) * share);
  }

  Rendering compact(Lines lines, const Draft& whole, std::size_t whole_tokens) {
    std::string reason;
    const auto command = command_words(captured_.command);
    const TypedInput input{captured_, command, lines, options_.max_tokens};
    if (auto own = render_by_user(input, options_, reason))
      return finish(std::move(*own), std::move(reason), raw_tokens_);
    if (auto chain = render_chain({captured_, lines, error_line_, options_.max_tokens}, reason)) {
      if (is_worth_it(*chain, whole_tokens))
        return finish(std::move(*chain), std::move(reason), raw_tokens_);
      reason += "; by segment it gains too little; ";
    }
    if (auto report = report_typed(input, reason)) {
      auto typed = draft_of(std::move(*report), captured_);
      if (is_worth_it(typed, whole_tokens))
        return finish(std::move(typed), std::move(reason), raw_tokens_);
      reason += fmt::format("; {} gains too little", typed.parser);
    }
    if (auto own = render_by_own(input, reason); own && is_worth_it(*own, whole_tokens))
      return finish(std::move(*own), std::move(reason), raw_tokens_);
    if (reads_source(command) && !is_report(lines)) {
      if (whole_tokens <= options_.max_tokens)
        return finish(whole, reason + "; a file, shown whole", raw_tokens_);
      return finish(render_start(captured_, lines, options_.max_tokens),
                    reason + "; a file over the budget", raw_tokens_);
    }
    return plain({lines, reads_log(command) ? TextKind::Log : TextKind::Unknown}, whole,
                 whole_tokens, reason);
  }

  // The text is never larger than the output.
  [[nodiscard]] bool is_worth_it(const Draft& draft, std::size_t whole_tokens) const {
    const auto tokens = static_cast<double>(estimate_tokens(draft.text));
    const auto whole = static_cast<double>(std::min(whole_tokens, raw_tokens_));
    if (whole_tokens < kSmallTokens) return tokens <= whole * kSmallGain;
    const bool fits = whole_tokens <= options_.max_tokens;
    return tokens < whole * (fits ? kLeastGain : 1.0);
  }

  struct PlainText {
    Lines lines;
    TextKind text_kind;
  };

  Rendering plain(const PlainText& text, const Draft& whole, std::size_t whole_tokens,
                  const std::string& reason) {
    const bool fits = whole_tokens <= options_.max_tokens;
    const bool is_a_log = text.text_kind == TextKind::Log || is_log(text.lines);
    const std::size_t bytes = captured_.output.size() + captured_.error.size();
    if (!is_a_log && bytes <= kMostOutlined)
      return outlined(text.lines, whole, whole_tokens, reason);
    if (fits && whole_tokens < kSmallTokens)
      return finish(whole, reason + "; shown whole", raw_tokens_);
    auto excerpt =
        render_excerpt({captured_, options_.max_tokens, raw_tokens_, text.lines, text.text_kind});
    const auto tokens = static_cast<double>(estimate_tokens(excerpt.text));
    if (fits && tokens > static_cast<double>(whole_tokens) * kLogGain)
      return finish(whole, reason + "; shown whole", raw_tokens_);
    return finish(std::move(excerpt), reason + (fits ? "; a log" : "; over the budget"),
                  raw_tokens_);
  }

  Rendering outlined(Lines lines, const Draft& whole, std::size_t whole_tokens,
                     const std::string& reason) {
    const bool fits = whole_tokens <= options_.max_tokens;
    auto outline =
        render_outline(captured_, {lines, options_.max_tokens, captured_.recall_id}, raw_tokens_);
    if (fits && !is_worth_it(outline, whole_tokens))
      return finish(whole, reason + "; shown whole", raw_tokens_);
    return finish(std::move(outline), reason + (fits ? "; like lines folded" : "; over the budget"),
                  raw_tokens_);
  }

  const Captured& captured_;
  const RenderOptions& options_;
  std::size_t raw_tokens_;
  std::size_t error_line_ = 0;  // of the cleaned lines
};

}  // namespace

Rendering render(const Captured& captured, const RenderOptions& options) {
  return Compaction(captured, options).run();
}

}  // namespace nutshell::compaction
