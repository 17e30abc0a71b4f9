#include "init/files/nearest_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/utf8_text.h"

namespace nutshell::init {
namespace {

constexpr std::size_t kMostLines = 100'000;
constexpr std::size_t kMostWanted = 400;
constexpr std::size_t kMostLetters = 400;  // of a line that is compared letter by letter
constexpr std::size_t kMostShown = 6;
constexpr double kAlike = 0.6;

constexpr bool is_blank(char letter) {
  return letter == ' ' || letter == '\t' || letter == '\r';
}

std::vector<std::string_view> lines_of(std::string_view text, std::size_t most) {
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < most) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (end < text.size() && line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view indentation(std::string_view line) {
  std::size_t size = 0;
  while (size < line.size() && is_blank(line[size]))
    ++size;
  return line.substr(0, size);
}
std::string_view without_end(std::string_view line) {
  while (!line.empty() && is_blank(line.back()))
    line.remove_suffix(1);
  return line;
}
std::string_view trimmed(std::string_view line) {
  return without_end(line.substr(indentation(line).size()));
}

// Turns every run of blanks into one space, and removes those at the ends.
std::string squeezed(std::string_view line) {
  std::string result;
  for (const char letter : trimmed(line)) {
    const bool is_gap = is_blank(letter);
    if (is_gap && !result.empty() && result.back() == ' ') continue;
    result += is_gap ? ' ' : letter;
  }
  return result;
}

std::vector<std::string> squeezed(const std::vector<std::string_view>& lines) {
  std::vector<std::string> result;
  result.reserve(lines.size());
  for (const std::string_view line : lines)
    result.push_back(squeezed(line));
  return result;
}

using Window = std::vector<std::string_view>;

enum class Blanks { Same, Indentation, LineEnds, Inside };

Blanks compare(std::string_view have, std::string_view want) {
  const auto has = [](std::string_view whole, std::string_view part) {
    return whole.find(part) != std::string_view::npos;
  };
  if (has(have, want)) return Blanks::Same;
  if (has(have, without_end(want))) return Blanks::LineEnds;
  return has(have, trimmed(want)) ? Blanks::Indentation : Blanks::Inside;
}

std::string describe_indentation(const Window& have) {
  bool has_tabs = false;
  bool has_spaces = false;
  for (const std::string_view line : have) {
    has_tabs = has_tabs || indentation(line).find('\t') != std::string_view::npos;
    has_spaces = has_spaces || indentation(line).find(' ') != std::string_view::npos;
  }
  if (has_tabs && has_spaces) return "indentation: file uses tabs and spaces";
  if (has_tabs) return "indentation: file uses tabs";
  return has_spaces ? "indentation: file uses spaces" : "indentation: file has none";
}

// Describes the blanks in which two runs of lines differ that are otherwise the same.
std::string describe_blanks(const Window& have, const Window& want) {
  Blanks most = Blanks::Same;
  for (std::size_t i = 0; i < have.size(); ++i) {
    const Blanks here = compare(have[i], want[i]);
    if (here == Blanks::Inside) most = here;
    if (here == Blanks::Indentation && most != Blanks::Inside) most = here;
    if (here == Blanks::LineEnds && most == Blanks::Same) most = here;
  }
  if (most == Blanks::Indentation) return describe_indentation(have);
  if (most == Blanks::Same) return "line ends";
  return most == Blanks::Inside ? "spaces inside a line" : "blanks at the end of a line";
}

// `old` may begin and end inside a line: its first line may be the end of a line, and its last the
// beginning of one.
bool is_part(const std::string& have, const std::string& want, std::size_t i, std::size_t count) {
  if (count == 1) return have.find(want) != std::string::npos;
  if (i == 0) return have.ends_with(want);
  return i + 1 == count ? have.starts_with(want) : have == want;
}

std::unordered_set<std::uint32_t> triples(std::string_view line) {
  line = line.substr(0, kMostLetters);
  std::unordered_set<std::uint32_t> set;
  const auto value = [&](std::size_t i) { return static_cast<unsigned char>(line[i]); };
  for (std::size_t i = 0; i + 2 < line.size(); ++i)
    set.insert(value(i) | (value(i + 1) << 8U) | static_cast<unsigned>(value(i + 2) << 16U));
  return set;
}

// Counts how many of the wanted groups of three letters the line has.
double likeness(const std::unordered_set<std::uint32_t>& wanted, std::string_view line) {
  if (wanted.empty()) return 0;
  std::size_t shared = 0;
  for (const std::uint32_t triple : triples(line))
    shared += wanted.count(triple);
  return static_cast<double>(shared) / static_cast<double>(wanted.size());
}

struct Search {
  Window have;
  Window want;
  std::vector<std::string> have_squeezed;
  std::vector<std::string> want_squeezed;

  // Finds the first line of a run that differs only in blanks.
  [[nodiscard]] std::optional<std::size_t> same_but_blanks() const {
    const std::size_t count = want.size();
    for (std::size_t at = 0; at + count <= have.size(); ++at) {
      std::size_t i = 0;
      while (i < count && is_part(have_squeezed[at + i], want_squeezed[i], i, count))
        ++i;
      if (i == count) return at;
    }
    return std::nullopt;
  }

  // Finds the run with most equal lines, or, if none is equal, with the line most like the longest.
  [[nodiscard]] std::optional<std::size_t> most_alike() const {
    const auto longest =
        std::max_element(want_squeezed.begin(), want_squeezed.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const auto offset = static_cast<std::size_t>(longest - want_squeezed.begin());
    const auto wanted = triples(*longest);
    double best = kAlike;
    std::optional<std::size_t> found;
    for (std::size_t line = 0; line < have.size(); ++line) {
      const double like = likeness(wanted, have_squeezed[line]);
      if (like < best) continue;
      const std::size_t at = line >= offset ? line - offset : 0;
      const double score = like + static_cast<double>(equal_lines(at));
      if (score <= best) continue;
      best = score;
      found = at;
    }
    return found;
  }

  [[nodiscard]] std::size_t equal_lines(std::size_t at) const {
    std::size_t equal = 0;
    for (std::size_t i = 0; i < want.size() && at + i < have.size(); ++i)
      equal += !want_squeezed[i].empty() && want_squeezed[i] == have_squeezed[at + i] ? 1 : 0;
    return equal;
  }
};

std::string show(const Window& lines, std::size_t first) {
  std::string shown;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostShown); ++i) {
    std::string line;
    for (const char letter : whole_characters(lines[i], kMostLetters)) {
      if (letter == '\t') {
        line += "→";
      } else {
        line += letter;
      }
    }
    shown += fmt::format("{}{}\t{}", i == 0 ? "" : "\n", first + i + 1, line);
  }
  if (lines.size() > kMostShown) shown += "\n…";
  return shown;
}

}  // namespace

std::optional<NearestLines> find_nearest(std::string_view text, std::string_view wanted) {
  Search search{lines_of(text, kMostLines), lines_of(wanted, kMostWanted), {}, {}};
  search.have_squeezed = squeezed(search.have);
  search.want_squeezed = squeezed(search.want);
  const bool is_only_blank = std::all_of(search.want_squeezed.begin(), search.want_squeezed.end(),
                                         [](const std::string& line) { return line.empty(); });
  if (is_only_blank) return std::nullopt;
  const auto same = search.same_but_blanks();
  const auto at = same ? same : search.most_alike();
  if (!at) return std::nullopt;
  const std::size_t count = std::min(search.want.size(), search.have.size() - *at);
  const auto begin = search.have.begin() + static_cast<std::ptrdiff_t>(*at);
  const Window window(begin, begin + static_cast<std::ptrdiff_t>(count));
  NearestLines nearest{*at + 1, *at + count, {}, show(window, *at)};
  if (same) nearest.difference = describe_blanks(window, search.want);
  return nearest;
}

}  // namespace nutshell::init
