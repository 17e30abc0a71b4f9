#include "compaction/fact_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>

#include "compaction/body_line.h"
#include "compaction/parsers/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kPlacesPerLine = 40;
constexpr std::size_t kGroupFrom = 3;  // fewer of a rule are shorter without a heading

std::string indented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += fmt::format("  {}\n", shortened(as_data(line)));
  return text;
}

std::string_view word_of(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Note:
      return "note";
  }
  return "note";
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
    std::string key = fmt::format("{}\n{}\n{}\n", static_cast<int>(diagnostic.severity),
                                  diagnostic.rule, diagnostic.message);
    for (const std::string& line : diagnostic.detail)
      key += line + "\n";
    const auto [found, is_new] = known.emplace(std::move(key), entries.size());
    if (is_new) entries.push_back({&diagnostic, {}});
    if (!diagnostic.where.file.empty()) entries[found->second].places.push_back(&diagnostic.where);
  }
  return entries;
}

// "a.c:1:2 9:4 b.c:3:1": the file is not said again while it stays the same.
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

// `label` stands ahead of the message, `rule` behind it; many places go on to further lines.
std::vector<FactBlock> blocks_of(const Entry& entry, std::string_view label,
                                 std::string_view rule) {
  const auto message = shortened(entry.first->message);
  const std::span<const Location* const> places(entry.places);
  std::vector<FactBlock> blocks;
  if (places.size() <= 1) {
    const auto where = places.empty() ? "" : fmt::format("{}: ", to_text(*places.front()));
    blocks.push_back({as_data(fmt::format("{}{}{}{}", where, label, message, rule)) + "\n",
                      indented(entry.first->detail), needle_of(entry)});
    return blocks;
  }
  const auto first = places.first(std::min(places.size(), kPlacesPerLine));
  const auto head = fmt::format("{}{}{} ×{}: ", label, message, rule, places.size());
  blocks.push_back({as_data(head) + place_list(first) + "\n", indented(entry.first->detail),
                    needle_of(entry), first.size()});
  for (std::size_t at = kPlacesPerLine; at < places.size(); at += kPlacesPerLine) {
    const auto more = places.subspan(at, std::min(kPlacesPerLine, places.size() - at));
    blocks.push_back(
        {fmt::format("  {}\n", place_list(more)), "", to_text(*more.front()), more.size()});
  }
  return blocks;
}

using RuleKey = std::pair<Severity, std::string>;
using RuleGroups = std::map<RuleKey, std::vector<const Entry*>>;

RuleGroups group_by_rule(const std::vector<Entry>& entries) {
  RuleGroups groups;
  for (const Entry& entry : entries)
    groups[{entry.first->severity, entry.first->rule}].push_back(&entry);
  return groups;
}

void append(std::vector<FactBlock>& blocks, std::vector<FactBlock> more) {
  blocks.insert(blocks.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

// "warning [-Wshadow] ×12:", then each message with its places.
void append_group(std::vector<FactBlock>& blocks, const RuleKey& key,
                  const std::vector<const Entry*>& members) {
  std::size_t count = 0;
  for (const Entry* member : members)
    count += std::max<std::size_t>(member->places.size(), 1);
  const std::size_t start = blocks.size();
  for (const Entry* member : members)
    append(blocks, blocks_of(*member, "", ""));
  blocks[start].head =
      fmt::format("{} [{}] ×{}:\n{}", word_of(key.first), key.second, count, blocks[start].head);
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

std::vector<FactBlock> diagnostic_blocks(const std::vector<Diagnostic>& diagnostics) {
  std::vector<FactBlock> blocks;
  const auto entries = merge_equal(diagnostics);
  const auto groups = group_by_rule(entries);
  for (const Severity severity : {Severity::Error, Severity::Warning, Severity::Note}) {
    for (const Entry& entry : entries) {
      if (entry.first->severity != severity) continue;
      const RuleKey key{severity, entry.first->rule};
      const auto& members = groups.at(key);
      const bool is_group = !key.second.empty() && members.size() >= kGroupFrom;
      if (is_group && members.front() == &entry) append_group(blocks, key, members);
      if (is_group) continue;
      const auto label = fmt::format("{}: ", word_of(severity));
      const auto rule = key.second.empty() ? "" : fmt::format(" [{}]", key.second);
      append(blocks, blocks_of(entry, label, rule));
    }
  }
  return blocks;
}

}  // namespace nutshell::compaction
