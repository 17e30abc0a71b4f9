#include "compaction/parsers/ls_parser.h"

#include <fmt/format.h>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

struct Entry {
  char type = '-';
  std::string_view mode;
  std::string_view size;
  std::string_view name;  // of a link with its target
};

bool is_mode(std::string_view word) {
  return word.size() >= 10 && std::string_view("-dlbcps").find(word[0]) != std::string_view::npos &&
         word.substr(1, 9).find_first_not_of("rwxsStT-") == std::string_view::npos;
}

// "drwxr-xr-x 2 root root 4096 Nov 15 16:25 name"; the date may be in one or in three words.
std::optional<Entry> parse_entry(std::string_view line) {
  Entry entry;
  entry.mode = take_word(line);
  if (!is_mode(entry.mode)) return std::nullopt;
  entry.type = entry.mode[0];
  for (int word = 0; word < 3; ++word)  // links, owner, group
    (void)take_word(line);
  entry.size = take_word(line);
  if (entry.size.ends_with(',')) {  // a device: two numbers
    (void)take_word(line);
  }
  const auto first = take_word(line);
  const bool has_size =
      !entry.size.empty() && is_digit(entry.size[0]) && !contains(entry.size, ":");
  if (first.empty() || !has_size) return std::nullopt;
  const bool is_iso = first.size() == 10 && first[4] == '-';
  (void)take_word(line);
  if (!is_iso) (void)take_word(line);
  const bool has_zone = is_iso && line.size() > 6 && (line[0] == '+' || line[0] == '-') &&
                        is_digit(line[1]) && is_digit(line[4]) && line[5] == ' ';
  if (has_zone) (void)take_word(line);
  entry.name = line;
  if (entry.name.empty()) return std::nullopt;
  return entry;
}

std::string to_text(const Entry& entry) {
  if (entry.type == 'd') return fmt::format("{}/", entry.name);
  if (entry.type == 'l') return std::string(entry.name);
  const bool is_program = entry.mode.find('x') != std::string_view::npos;
  return fmt::format("{}{} {}", entry.name, is_program ? "*" : "", entry.size);
}

bool recognises_ls(const ParserInput& input) {
  if (input.lines.size() < 3) return false;
  const std::size_t most_others = input.lines.size() * 2 / 10;
  std::size_t others = 0;
  for (const auto line : input.lines) {
    others += parse_entry(line) ? 0 : 1;
    if (others > most_others) return false;
  }
  return true;
}

std::optional<Facts> parse_ls(const ParserInput& input) {
  Facts facts;
  facts.is_data = true;
  facts.tool = "ls";
  std::uint64_t folders = 0;
  std::uint64_t files = 0;
  std::string row;  // directories stand side by side: they have no size
  const auto end_row = [&] {
    if (!row.empty()) facts.kept.push_back(std::exchange(row, {}));
  };
  for (const auto line : input.lines) {
    const auto entry = parse_entry(line);
    const bool is_self = entry && (entry->name == "." || entry->name == "..");
    if (is_self || line.starts_with("total ")) continue;
    if (entry && entry->type == 'd') {
      ++folders;
      row += fmt::format("{}{}", row.empty() ? "" : " ", to_text(*entry));
      continue;
    }
    end_row();
    if (is_blank(line)) continue;
    files += entry ? 1 : 0;
    facts.kept.push_back(entry ? to_text(*entry) : std::string(line));
  }
  end_row();
  if (folders > 0) facts.totals.push_back({"directories", folders});
  if (files > 0) facts.totals.push_back({"files", files});
  facts.omitted = {{"modes, owners and times", folders + files}};
  return facts;
}

}  // namespace

Parser ls_parser() {
  return {"ls", recognises_ls, parse_ls};
}

}  // namespace nutshell::compaction
