#include "compaction/native.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/compactor.h"
#include "compaction/formatter.h"
#include "compaction/status_line.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostBytesPerToken = 16;

std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Returns the longest run of whole lines at the start of `text` within the budget; cuts a first
// line that is too long.
std::string_view head_within(std::string_view text, std::size_t max_tokens) {
  text = text.substr(0, max_tokens * kMostBytesPerToken);
  while (!text.empty() && estimate_tokens(text) > max_tokens)
    text = text.substr(0, text.size() * 7 / 8);
  const auto end = text.rfind('\n');
  return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

std::string_view tail_within(std::string_view text, std::size_t max_tokens) {
  const std::size_t most = max_tokens * kMostBytesPerToken;
  if (text.size() > most) text = text.substr(text.size() - most);
  while (!text.empty() && estimate_tokens(text) > max_tokens)
    text = text.substr(text.size() - text.size() * 7 / 8);
  const auto start = text.find('\n');
  return start == std::string_view::npos || start + 1 == text.size() ? text
                                                                     : text.substr(start + 1);
}

}  // namespace

Draft render_native(const Captured& captured, std::size_t max_tokens) {
  Draft draft{"", "native", {}};
  const bool is_failed = is_failing(captured.ending);
  std::string all(captured.output);
  if (!all.empty() && all.back() != '\n' && !captured.error.empty()) all += '\n';
  all += captured.error;
  if (estimate_tokens(all) <= max_tokens) {
    if (is_failed) draft.text = ending_text(captured.ending) + "\n";
    draft.text += all;
    return draft;
  }
  constexpr std::size_t kFrameTokens = 60;
  const std::size_t half = max_tokens > kFrameTokens ? (max_tokens - kFrameTokens) / 2 : 0;
  const auto head = head_within(all, half);
  const auto tail = tail_within(std::string_view(all).substr(head.size()), half);
  const auto middle =
      std::string_view(all).substr(head.size(), all.size() - head.size() - tail.size());
  draft.omitted.push_back({"lines", count_lines(middle)});
  draft.omitted.push_back({"bytes", middle.size()});
  const auto note =
      omission_line(draft.omitted, recall_call(captured.recall_id, count_lines(head) + 1));
  draft.text = fmt::format("{}\n{}{}{}{}", status_line(captured, ""), head,
                           head.ends_with('\n') ? "" : "\n", note, tail);
  return draft;
}

}  // namespace nutshell::compaction
