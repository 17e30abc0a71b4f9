#include "compaction/fact_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "compaction/body_line.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kPlacesPerLine = 40;
constexpr std::size_t kShareFrom = 2;  // messages of one file
constexpr std::size_t kGroupFrom = 3;  // fewer messages of a rule are shorter without a heading

std::string indented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += fmt::format("  {}\n", shortened(as_data(line)));
  return text;
}

std::string_view word_of(const Diagnostic& diagnostic) {
  if (!diagnostic.word.empty()) return diagnostic.word;
  switch (diagnostic.severity) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Note:
      return "note";
    case Severity::Unstated:
      return "";
  }
  return "";
}

// One message, and all the places it was given for.
struct Entry {
  const Diagnostic* first = nullptr;
  std::vector<const Location*> places;
};

std::vector<Entry> merge_equal(const std::vector<Diagnostic>& diagnostics) {
  std::vector<Entry> entries;
  std::unordered_map<std::string, std::size_t> known;
  for (const Diagnostic& diagnostic : diagnostics) {
    std::string key = fmt::format("{}\n{}\n{}\n{}\n", static_cast<int>(diagnostic.severity),
                                  diagnostic.word, diagnostic.rule, diagnostic.message);
    for (const std::string& line : diagnostic.detail)
      key += line + "\n";
    const auto [found, is_new] = known.emplace(std::move(key), entries.size());
    if (is_new) entries.push_back({&diagnostic, {}});
    if (!diagnostic.where.file.empty()) entries[found->second].places.push_back(&diagnostic.where);
  }
  return entries;
}

// "a.c:1:2 9:4 b.c:3:1": the file is repeated only when it changes.
std::string place_list(std::span<const Location* const> places) {
  std::string text;
  const Location* before = nullptr;
  for (const Location* place : places) {
    if (!text.empty()) text += ' ';
    const bool is_same = before != nullptr && before->file == place->file && place->line != 0;
    const auto whole = to_text(*place);
    text += is_same ? whole.substr(place->file.size() + 1) : whole;
    before = place;
  }
  return text;
}

std::string needle_of(const Entry& entry) {
  return entry.places.empty() ? entry.first->message : to_text(*entry.places.front());
}

// A block before formatting. One with a single place may later go below a line that names its file.
struct Placed {
  std::string title;  // title of the group that begins here
  const Location* where = nullptr;
  std::string said;  // the text after the place
  FactBlock block;   // its head is set if it has not exactly one place
};

// Writes `label`, the message and `rule`. If the places need further lines, each repeats the
// message, because the budget may end in between.
std::vector<Placed> placed_of(const Entry& entry, std::string_view label, std::string_view rule) {
  const auto said = fmt::format("{}{}{}", label, shortened(entry.first->message), rule);
  const std::span<const Location* const> places(entry.places);
  if (places.size() <= 1) {
    const auto head = places.empty() ? as_data(said) + "\n" : "";
    return {{"",
             places.empty() ? nullptr : places.front(),
             said,
             {head, indented(entry.first->detail), needle_of(entry)}}};
  }
  std::vector<Placed> lines;
  for (std::size_t at = 0; at < places.size(); at += kPlacesPerLine) {
    const auto some = places.subspan(at, std::min(kPlacesPerLine, places.size() - at));
    const auto count = at == 0 ? fmt::format(" ×{}", places.size()) : "";
    const auto head = as_data(fmt::format("{}{}: {}", said, count, place_list(some))) + "\n";
    const auto detail = at == 0 ? indented(entry.first->detail) : "";
    lines.push_back({"", nullptr, "", {head, detail, to_text(*some.front()), some.size()}});
  }
  return lines;
}

// "a.c:1:7: text", or " 1:7 text" below a line with the file.
std::string head_of(const Placed& placed, bool is_below_its_file) {
  if (placed.where == nullptr) return placed.block.head;
  const auto whole = to_text(*placed.where);
  if (!is_below_its_file) return as_data(fmt::format("{}: {}", whole, placed.said)) + "\n";
  const auto place = std::string_view(whole).substr(placed.where->file.size() + 1);
  return as_data(
             fmt::format(" {}{} {}", place, placed.where->column == 0 ? ":" : "", placed.said)) +
         "\n";
}

// Returns how many blocks from here on have the same file and group.
std::size_t run_of_file(std::span<const Placed> placed) {
  const Location* first = placed.front().where;
  if (first == nullptr || first->line == 0) return 1;
  std::size_t end = 1;
  while (end < placed.size() && placed[end].title.empty() && placed[end].where != nullptr &&
         placed[end].where->line != 0 && placed[end].where->file == first->file)
    ++end;
  return end;
}

// Names a file with several messages once, above them.
std::vector<FactBlock> finished(std::span<Placed> placed) {
  std::vector<FactBlock> blocks;
  blocks.reserve(placed.size());
  for (std::size_t at = 0; at < placed.size();) {
    const std::size_t run = run_of_file(placed.subspan(at));
    const bool is_shared = run >= kShareFrom;
    for (std::size_t index = at; index < at + run; ++index) {
      const bool is_first = index == at && is_shared;
      const auto file = is_first ? as_data(placed[at].where->file + ":") + "\n" : "";
      auto head = placed[index].title + file + head_of(placed[index], is_shared);
      blocks.push_back(std::move(placed[index].block));
      blocks.back().head = std::move(head);
    }
    at += run;
  }
  return blocks;
}

using RuleKey = std::tuple<Severity, std::string, std::string>;  // severity, its word, rule
using RuleGroups = std::map<RuleKey, std::vector<const Entry*>>;

RuleKey key_of(const Diagnostic& diagnostic) {
  return {diagnostic.severity, diagnostic.word, diagnostic.rule};
}

RuleGroups group_by_rule(const std::vector<Entry>& entries) {
  RuleGroups groups;
  for (const Entry& entry : entries)
    groups[key_of(*entry.first)].push_back(&entry);
  return groups;
}

void append(std::vector<Placed>& blocks, std::vector<Placed> more) {
  blocks.insert(blocks.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

// "warning [-Wshadow] ×12:", then each message with its places.
void append_group(std::vector<Placed>& blocks, const std::vector<const Entry*>& members) {
  std::size_t count = 0;
  for (const Entry* member : members)
    count += std::max<std::size_t>(member->places.size(), 1);
  const std::size_t start = blocks.size();
  for (const Entry* member : members)
    append(blocks, placed_of(*member, "", ""));
  const Diagnostic& first = *members.front()->first;
  const auto word = word_of(first);
  blocks[start].title =
      fmt::format("{}{}[{}] ×{}:\n", word, word.empty() ? "" : " ", first.rule, count);
}

std::string label_of(const Diagnostic& diagnostic) {
  const auto word = word_of(diagnostic);
  return word.empty() ? "" : fmt::format("{}: ", word);
}

}  // namespace

std::vector<FactBlock> failure_blocks(const std::vector<Failure>& failures) {
  std::vector<FactBlock> blocks;
  blocks.reserve(failures.size());
  for (const Failure& failure : failures) {
    const auto where =
        failure.where.file.empty() ? "" : fmt::format("  {}", to_text(failure.where));
    const auto head = fmt::format("{} {}{}", failure.word, shortened(failure.name), where);
    blocks.push_back({as_data(head) + "\n", indented(failure.detail), failure.name});
  }
  return blocks;
}

std::vector<Diagnostic> distinct_diagnostics(const std::vector<Diagnostic>& diagnostics) {
  std::unordered_set<std::string> known;
  std::vector<Diagnostic> distinct;
  for (const Diagnostic& diagnostic : diagnostics) {
    auto key = fmt::format("{}\n{}\n{}\n{}", to_text(diagnostic.where), diagnostic.message,
                           diagnostic.rule, fmt::join(diagnostic.detail, "\n"));
    if (known.insert(std::move(key)).second) distinct.push_back(diagnostic);
  }
  return distinct;
}

std::vector<FactBlock> diagnostic_blocks(const std::vector<Diagnostic>& diagnostics) {
  std::vector<Placed> blocks;
  const auto entries = merge_equal(diagnostics);
  const auto groups = group_by_rule(entries);
  for (const Severity severity :
       {Severity::Error, Severity::Unstated, Severity::Warning, Severity::Note}) {
    for (const Entry& entry : entries) {
      if (entry.first->severity != severity) continue;
      const auto& members = groups.at(key_of(*entry.first));
      const bool is_group = !entry.first->rule.empty() && members.size() >= kGroupFrom;
      if (is_group && members.front() == &entry) append_group(blocks, members);
      if (is_group) continue;
      const auto& rule = entry.first->rule;
      append(blocks, placed_of(entry, label_of(*entry.first),
                               rule.empty() ? "" : fmt::format(" [{}]", rule)));
    }
  }
  return finished(blocks);
}

}  // namespace nutshell::compaction
