#include "compaction/like_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "compaction/body_line.h"
#include "compaction/compactor.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFoldFrom = 4;
constexpr std::size_t kMostDifferences = 3;  // positions; rows that differ in more are a table
constexpr std::size_t kMostParts = 64;       // of one line; a longer line is never folded
constexpr std::size_t kCheapBytes = 480;     // of a list of differences
constexpr std::size_t kLongestFolded = 400;  // bytes of a line

constexpr std::uint8_t kSeparator = 1;
constexpr std::uint8_t kOpening = 2;   // what follows is a name, whatever its letters
constexpr std::uint8_t kNamePart = 4;  // makes the word that holds it a name

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (const char c : std::string_view(" \t()[]{}<>\"'`=,;|"))
    classes[static_cast<unsigned char>(c)] = kSeparator;
  for (const char c : std::string_view("([{<\"'`="))
    classes[static_cast<unsigned char>(c)] |= kOpening;
  for (const char c : std::string_view("0123456789/\\_.@-#"))
    classes[static_cast<unsigned char>(c)] |= kNamePart;
  return classes;
}

std::uint8_t class_of(char character) {
  static constexpr auto kClasses = make_classes();
  return kClasses[static_cast<unsigned char>(character)];
}

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15ULL;
}

// "12345: " and "…done." end in punctuation that belongs to the sentence, not to the name.
std::string_view without_end(std::string_view word) {
  while (word.size() > 1 && (word.back() == ':' || word.back() == '.'))
    word.remove_suffix(1);
  return word;
}

bool is_rule_line(std::string_view word) {
  const bool is_mark =
      word.size() >= 3 && std::string_view("-=*._~#+").find(word.front()) != std::string_view::npos;
  return is_mark && word.find_first_not_of(word.front()) == std::string_view::npos;
}

struct Part {
  std::string_view text;
  bool is_name = false;  // may differ between like lines
};

// Calls `use` with every word and `pass` with every separator that is no blank.
template <typename Use, typename Pass>
void for_each_part(std::string_view line, const Use& use, const Pass& pass) {
  char before = ' ';
  for (std::size_t at = 0; at < line.size();) {
    if ((class_of(line[at]) & kSeparator) != 0) {
      if (line[at] != ' ' && line[at] != '\t') pass(line[at]);
      before = line[at++];
      continue;
    }
    const std::size_t start = at;
    std::uint8_t seen = 0;
    for (; at < line.size() && (class_of(line[at]) & kSeparator) == 0; ++at) {
      seen |= class_of(line[at]);
    }
    const auto word = line.substr(start, at - start);
    const bool is_opened = (class_of(before) & kOpening) != 0;
    use(Part{word, is_opened || ((seen & kNamePart) != 0 && !is_rule_line(word))});
    before = ' ';
  }
}

std::vector<std::string_view> majorities(const std::vector<std::vector<std::string_view>>& rows) {
  std::vector<std::string_view> majority(rows.front().size());
  for (std::size_t at = 0; at < majority.size(); ++at) {
    std::size_t votes = 0;
    for (const auto& row : rows) {  // the majority vote of Boyer and Moore
      if (votes == 0) majority[at] = row[at];
      votes += row[at] == majority[at] ? 1 : std::size_t(0) - 1;
    }
    const auto count = std::count_if(rows.begin(), rows.end(),
                                     [&](const auto& row) { return row[at] == majority[at]; });
    if (static_cast<std::size_t>(count) * 10 < rows.size() * 6) majority[at] = {};
  }
  return majority;
}

std::string differences(const std::vector<std::string_view>& row,
                        const std::vector<std::size_t>& positions) {
  std::string text;
  for (const std::size_t at : positions) {
    if (!text.empty()) text += ' ';
    text += without_end(row[at]);
  }
  return text;
}

// "; also b, c": what differs in the rows after the first.
struct Differences {
  std::string text;
  std::size_t unlisted = 0;
};

Differences list_differences(const std::vector<std::vector<std::string_view>>& rows,
                             const std::vector<std::size_t>& positions, Listing listing) {
  Differences list;
  std::map<std::string, std::size_t> counts;
  std::vector<const std::string*> order;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const auto [found, is_new] = counts.emplace(differences(rows[at], positions), 0);
    if (is_new && at > 0) order.push_back(&found->first);
    ++found->second;
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::size_t count = counts.at(*order[at]);
    if (listing == Listing::WhileCheap && list.text.size() > kCheapBytes) {
      list.unlisted += count;
      continue;
    }
    list.text += list.text.empty() ? "; also " : ", ";
    list.text += *order[at];
    if (count > 1) list.text += fmt::format(" ×{}", count);
  }
  if (list.unlisted > 0) list.text += fmt::format(", {} more", list.unlisted);
  return list;
}

struct Rows {
  std::vector<std::vector<std::string_view>> parts;
  std::vector<std::size_t> members;
};

// The rows without those that differ where most are equal.
Rows usual_rows(std::span<const std::string_view> lines) {
  Rows all;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    auto parts = parts_of(lines[at]);
    const bool is_odd = parts.size() > kMostParts || lines[at].size() > kLongestFolded ||
                        (!all.parts.empty() && parts.size() != all.parts.front().size());
    if (is_odd) continue;
    all.parts.push_back(std::move(parts));
    all.members.push_back(at);
  }
  if (all.parts.empty()) return all;
  const auto majority = majorities(all.parts);
  Rows usual;
  for (std::size_t at = 0; at < all.parts.size(); ++at) {
    bool is_outlier = false;
    for (std::size_t index = 0; index < majority.size(); ++index) {
      is_outlier |= !majority[index].empty() && all.parts[at][index] != majority[index];
    }
    if (is_outlier) continue;
    usual.parts.push_back(std::move(all.parts[at]));
    usual.members.push_back(all.members[at]);
  }
  return usual;
}

}  // namespace

std::uint64_t likeness_of(std::string_view line) {
  std::uint64_t hash = 0x2545f4914f6cdd1dULL;
  for_each_part(
      line,
      [&](const Part& part) {
        if (part.is_name) {
          hash = mix(hash, '#');
          if (part.text.ends_with(':')) hash = mix(hash, ':');
        } else if (is_rule_line(part.text)) {
          hash = mix(hash, static_cast<unsigned char>(part.text.front()));
        } else {
          std::uint64_t word = hash;
          for (const char c : part.text)
            word = mix(word, static_cast<unsigned char>(c));
          hash = mix(word, ' ');
        }
      },
      [&](char separator) { hash = mix(hash, static_cast<unsigned char>(separator)); });
  return hash;
}

std::vector<std::string_view> parts_of(std::string_view line) {
  std::vector<std::string_view> parts;
  for_each_part(
      line,
      [&](const Part& part) {
        if (part.is_name) parts.push_back(part.text);
      },
      [](char) {});
  return parts;
}

LikeFold fold_like(std::span<const std::string_view> lines, Listing listing) {
  const auto rows = usual_rows(lines);
  if (rows.members.size() < kFoldFrom) return {};
  std::vector<std::size_t> positions;
  for (std::size_t at = 0; at < rows.parts.front().size(); ++at) {
    const bool differs = std::any_of(rows.parts.begin(), rows.parts.end(), [&](const auto& row) {
      return row[at] != rows.parts.front()[at];
    });
    if (differs) positions.push_back(at);
  }
  if (positions.size() > kMostDifferences) return {};
  const auto list = list_differences(rows.parts, positions, listing);
  LikeFold fold;
  fold.text = fmt::format("{} (×{}{})", as_data(lines[rows.members.front()]), rows.members.size(),
                          list.text);
  std::size_t whole = 0;
  for (const std::size_t member : rows.members)
    whole += lines[member].size() + 1;
  if (fold.text.size() * 10 > whole * 7) return {};
  fold.members = rows.members;
  fold.unlisted = list.unlisted;
  return fold;
}

}  // namespace nutshell::compaction
