#include "compaction/parsers/git_stat_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "compaction/parsers/path_groups.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFewestRows = 8;

struct Row {
  std::string_view path;
  std::string change;  // "+12 -3", "12", "Bin 0 -> 120 bytes"; the status letter of --name-status
  std::uint64_t size = 0;
};

// "12\t3\tsrc/a.cc", and "-\t-\tlogo.png" for a binary file
std::optional<Row> numstat_row(std::string_view line) {
  const auto parts = split(line, '\t');
  if (parts.size() != 3 || parts[2].empty()) return std::nullopt;
  if (parts[0] == "-" && parts[1] == "-") return Row{parts[2], "binary", 0};
  auto added = parts[0];
  auto removed = parts[1];
  const auto plus = take_number(added);
  const auto minus = take_number(removed);
  if (!plus || !minus || !added.empty() || !removed.empty()) return std::nullopt;
  return Row{parts[2], fmt::format("+{} -{}", *plus, *minus), *plus + *minus};
}

// " src/a.cc | 12 +++---" and " logo.png | Bin 0 -> 120 bytes". A path that git cut begins with
// "..." and stays so.
std::optional<Row> stat_row(std::string_view line) {
  const auto bar = line.find(" | ");
  if (!line.starts_with(' ') || bar == std::string_view::npos) return std::nullopt;
  const auto path = trim(line.substr(0, bar));
  auto change = trim(line.substr(bar + 3));
  if (path.empty()) return std::nullopt;
  if (change.starts_with("Bin")) return Row{path, std::string(change), 0};
  const auto count = take_number(change);
  if (!count || trim(change).find_first_not_of("+-") != std::string_view::npos) return std::nullopt;
  return Row{path, std::to_string(*count), *count};
}

// "M\tsrc/a.cc"; a rename or copy has two paths and is no such row.
std::optional<Row> status_row(std::string_view line) {
  const auto parts = split(line, '\t');
  if (parts.size() != 2 || parts[0].size() != 1 || parts[1].empty()) return std::nullopt;
  if (std::string_view("ADMTUX").find(parts[0].front()) == std::string_view::npos)
    return std::nullopt;
  return Row{parts[1], std::string(parts[0]), 0};
}

using ReadRow = std::optional<Row> (*)(std::string_view line);

// Returns the form that most lines have; nullptr if there is none.
ReadRow form_of(Lines lines) {
  for (const ReadRow read : {numstat_row, stat_row, status_row}) {
    const auto rows = static_cast<std::size_t>(
        std::ranges::count_if(lines, [&](auto line) { return read(line).has_value(); }));
    if (rows >= kFewestRows && rows * 10 >= lines.size() * 8) return read;
  }
  return nullptr;
}

bool recognises_git_stat(const ParserInput& input) {
  return input.command.starts_with({"git"}) && form_of(input.lines) != nullptr;
}

// Names the largest changes first if there are many, so that no budget hides them.
void add_largest(std::vector<Row> rows, Facts& facts) {
  constexpr std::size_t kMany = 100;
  constexpr std::size_t kShown = 10;
  if (rows.size() < kMany) return;
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) { return a.size > b.size; });
  if (rows.front().size == 0) return;
  facts.kept.emplace_back("largest:");
  for (const Row& row : std::span(rows).first(kShown))
    facts.kept.push_back(fmt::format(" {} {}", row.path, row.change));
}

// Adds the rows of one directory below its name. Equal changes share a line.
void add_directory(std::string_view directory, const std::vector<const Row*>& rows, Facts& facts) {
  std::map<std::string_view, std::vector<std::string_view>> by_change;
  for (const Row* row : rows)
    by_change[row->change].push_back(row->path.substr(directory.size()));
  const bool is_alone = rows.size() == 1;
  if (!is_alone && !directory.empty()) facts.kept.push_back(fmt::format("{}:", directory));
  for (const auto& [change, names] : by_change) {
    const bool is_list = names.size() > 1 &&
                         std::ranges::none_of(names, [](auto name) { return contains(name, " "); });
    const auto start = is_alone ? std::string(directory) : directory.empty() ? "" : " ";
    if (is_list) {
      facts.kept.push_back(fmt::format("{}{} each: {}", start, change, fmt::join(names, " ")));
      continue;
    }
    for (const auto name : names)
      facts.kept.push_back(fmt::format("{}{} {}", start, name, change));
  }
}

void add_counted(const std::vector<Row>& rows, Facts& facts) {
  add_largest(rows, facts);
  std::map<std::string_view, std::vector<const Row*>> by_directory;
  for (const Row& row : rows)
    by_directory[row.path.substr(0, row.path.rfind('/') + 1)].push_back(&row);
  for (const auto& [directory, members] : by_directory)
    add_directory(directory, members, facts);
}

void add_states(const std::vector<Row>& rows, Facts& facts) {
  std::map<std::string_view, std::vector<std::string_view>> by_state;
  for (const Row& row : rows)
    by_state[row.change].push_back(row.path);
  for (const auto& [state, paths] : by_state) {
    facts.kept.push_back(fmt::format("{} ({}):", state, paths.size()));
    std::ranges::move(group_paths(paths), std::back_inserter(facts.kept));
  }
}

std::optional<Facts> parse_git_stat(const ParserInput& input) {
  const auto read = form_of(input.lines);
  Facts facts;
  facts.is_data = true;
  facts.tool = "git";
  std::vector<Row> rows;
  for (const auto line : input.lines) {
    const auto row = read(line);
    if (row && !contains(row->path, " => "))
      rows.push_back(*row);
    else if (!is_blank(line))
      facts.kept.emplace_back(line);  // renames, sums, what a commit says
  }
  facts.totals = {{"files listed", rows.size()}};
  if (read == status_row)
    add_states(rows, facts);
  else
    add_counted(rows, facts);
  return facts;
}

}  // namespace

Parser git_stat_parser() {
  return {"git stat", recognises_git_stat, parse_git_stat};
}

}  // namespace nutshell::compaction
