#include "compaction/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "compaction/body_line.h"
#include "compaction/command_words.h"
#include "compaction/compactor.h"
#include "compaction/formatter.h"
#include "compaction/outline.h"
#include "compaction/segments.h"
#include "compaction/status_line.h"
#include "compaction/typed.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFrameTokens = 80;    // the status and the last line
constexpr std::size_t kHeadingTokens = 12;  // of each segment
constexpr std::size_t kLeastTokens = 120;   // a segment is never cut below that

// One segment as text, and whether it tells why the command failed.
struct RenderedSegment {
  Report report;
  bool is_reason = false;
  std::size_t tokens = 0;
  std::string why;
};

class Chain {
 public:
  explicit Chain(const ChainInput& input)
      : input_(input),
        commands_(listed_commands(input.captured.command)),
        segments_(find_segments({input.lines, input.error_line, commands_})) {}

  [[nodiscard]] bool is_one() const { return segments_.size() < 2; }

  std::optional<Draft> render(std::string& reason) {
    const std::size_t frame = kFrameTokens + kHeadingTokens * segments_.size();
    const std::size_t room = input_.max_tokens - std::min(input_.max_tokens, frame);
    for (const Segment& segment : segments_)
      rendered_.push_back(render_segment(segment, room));
    const bool is_explained =
        std::any_of(rendered_.begin(), rendered_.end(),
                    [](const RenderedSegment& rendered) { return rendered.is_reason; });
    if (is_failing(input_.captured.ending) && !is_explained) return std::nullopt;
    fit(room);
    for (std::size_t at = 0; at < segments_.size(); ++at)
      reason += why_of(at);
    return draft_of(merged(), input_.captured);
  }

 private:
  RenderedSegment render_segment(const Segment& segment, std::size_t max_tokens) {
    const auto lines = input_.lines.subspan(segment.first, segment.lines);
    RenderedSegment rendered;
    std::string reason;
    Captured part = input_.captured;
    if (auto report =
            report_typed({part, segment.command, lines, max_tokens, segment.first}, reason)) {
      rendered = {std::move(*report), true, 0, {}};
    } else if (is_failing(part.ending)) {  // it may be another segment's failure
      part.ending.outcome = Outcome::Exited;
      part.ending.exit_code = 0;
      if (auto passed =
              report_typed({part, segment.command, lines, max_tokens, segment.first}, reason))
        rendered = {std::move(*passed), false, 0, {}};
    }
    if (rendered.report.parser.empty()) rendered = outline(segment, lines, max_tokens);
    rendered.tokens = estimate_tokens(rendered.report.text);
    return rendered;
  }

  RenderedSegment outline(const Segment& segment, Lines lines, std::size_t max_tokens) const {
    auto made = make_outline({lines, max_tokens, input_.captured.recall_id, segment.first});
    Report report{"", std::move(made.text), std::move(made.omitted), made.next, "outline"};
    return {std::move(report), made.has_error, 0, {}};
  }

  // Gives small segments all they need and the others equal shares of what is left.
  void fit(std::size_t room) {
    std::vector<std::size_t> order(rendered_.size());
    for (std::size_t at = 0; at < order.size(); ++at)
      order[at] = at;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return rendered_[a].tokens < rendered_[b].tokens;
    });
    for (std::size_t index = 0; index < order.size(); ++index) {
      const std::size_t at = order[index];
      const std::size_t share = std::max(kLeastTokens, room / (order.size() - index));
      if (rendered_[at].tokens > share) rendered_[at] = render_segment(segments_[at], share);
      room -= std::min(room, rendered_[at].tokens);
    }
  }

  static std::string name_of(const Segment& segment) {
    constexpr std::size_t kLongest = 80;
    const auto name = fmt::format("{}", fmt::join(segment.command.words, " "));
    if (name.empty())
      return fmt::format("lines {}-{}", segment.first + 1, segment.first + segment.lines);
    return name.size() <= kLongest ? name : segment.command.words.front();
  }

  [[nodiscard]] std::string why_of(std::size_t at) const {
    const Segment& segment = segments_[at];
    return fmt::format("{}lines {}-{}: {} by {}{}", at == 0 ? "" : "; ", segment.first + 1,
                       segment.first + segment.lines, name_of(segment), rendered_[at].report.parser,
                       segment.why.empty() ? "" : fmt::format(" ({})", segment.why));
  }

  Report merged() const {
    Report all;
    for (std::size_t at = 0; at < rendered_.size(); ++at) {
      const Report& one = rendered_[at].report;
      if (!one.summary.empty()) all.summary += (all.summary.empty() ? "" : "; ") + one.summary;
      all.text += as_data(fmt::format("[{}]", name_of(segments_[at]))) + "\n" + one.text;
      for (const Omission& omission : one.omitted)
        add_to(all.omitted, omission);
      if (all.next == 0) all.next = one.next;
      all.parser += (at == 0 ? "" : "+") + one.parser;
    }
    return all;
  }

  const ChainInput& input_;
  std::vector<CommandWords> commands_;
  std::vector<Segment> segments_;
  std::vector<RenderedSegment> rendered_;
};

}  // namespace

std::optional<Draft> render_chain(const ChainInput& input, std::string& reason) {
  Chain chain(input);
  if (chain.is_one()) return std::nullopt;
  return chain.render(reason);
}

}  // namespace nutshell::compaction
