#include "compaction/body_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8_text.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool starts_with_status(std::string_view line) {
  if (take_prefix(line, "exit ")) {
    (void)take_prefix(line, "-");  // a forged status may have any number
    return take_number(line) && (line.empty() || line.front() == '.' || line.front() == ',');
  }
  constexpr std::array<std::string_view, 9> kStarts = {
      "killed by signal ",      "timed out, killed", "out of memory, killed",
      "output limit reached, ", "cancelled, killed", "lost: the sandbox",
      "ok, no output",          "(left out",         "unchanged since o"};
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view start) { return line.starts_with(start); });
}

// "raw: o7f3a" and "recall o7f3a"
bool has_handle(std::string_view line, std::string_view word) {
  for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const auto id = line.substr(at + word.size());
    if (id.size() > 2 && id[0] == 'o' &&
        std::string_view("0123456789abcdef").find(id[1]) != std::string_view::npos)
      return true;
  }
  return false;
}

// Texts that instruct a model or imitate its next turn. The list cannot be complete: other such
// texts are shown without the mark.
bool speaks_to_the_reader(std::string_view line) {
  constexpr std::array<std::string_view, 9> kOrders = {"revious instructions",
                                                       "REVIOUS INSTRUCTIONS",
                                                       "rior instructions",
                                                       "RIOR INSTRUCTIONS",
                                                       "ystem prompt",
                                                       "YSTEM PROMPT",
                                                       "<|im_",
                                                       "<system",
                                                       "[INST]"};
  return std::any_of(kOrders.begin(), kOrders.end(),
                     [&](std::string_view order) { return contains(line, order); });
}

}  // namespace

bool looks_like_ours(std::string_view line) {
  return starts_with_status(trim_left(line)) || has_handle(line, "raw: ") ||
         has_handle(line, "recall ");
}

std::string as_data(std::string_view line) {
  return looks_like_ours(line) || speaks_to_the_reader(line) ? fmt::format("| {}", line)
                                                             : std::string(line);
}

std::string shortened(std::string_view line, std::size_t focus) {
  if (line.size() <= kLongestLine) return std::string(line);
  std::size_t start = focus > kLongestLine / 2 ? focus - kLongestLine / 4 : 0;
  start = std::min(start, line.size() - kLongestLine);
  std::size_t end = start + kLongestLine;
  while (start < end && is_inside_character(line[start]))
    ++start;
  while (end < line.size() && end > start && is_inside_character(line[end]))
    --end;
  const auto left = line.substr(0, start);
  const auto right = line.substr(end);
  const auto ahead = left.empty() ? "" : fmt::format("({} chars)…", count_characters(left));
  const auto behind = right.empty() ? "" : fmt::format("…(+{} chars)", count_characters(right));
  return fmt::format("{}{}{}", ahead, line.substr(start, end - start), behind);
}

}  // namespace nutshell::compaction
