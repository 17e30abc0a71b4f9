#include "compaction/records/table_reader.h"

#include <algorithm>
#include <array>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFewestRows = 8;
constexpr std::size_t kFewestColumns = 2;
constexpr std::size_t kMostOther = 12;
constexpr std::size_t kLongestTitle = 64;

// Cells of a line; a divider inside quotes of CSV divides none.
std::vector<std::string_view> cells_of(std::string_view line, std::string_view divider) {
  std::vector<std::string_view> cells;
  const bool has_quotes = divider == ",";
  auto body = trim(line);
  const bool has_border = !has_quotes && divider != "\t";
  if (has_border) {
    (void)take_prefix(body, divider);
    if (body.ends_with(divider)) body.remove_suffix(divider.size());
  }
  std::size_t start = 0;
  bool in_quotes = false;
  for (std::size_t at = 0; at < body.size();) {
    if (has_quotes && body[at] == '"') in_quotes = !in_quotes;
    if (!in_quotes && body.substr(at).starts_with(divider)) {
      cells.push_back(trim(body.substr(start, at - start)));
      at += divider.size();
      start = at;
    } else {
      ++at;
    }
  }
  cells.push_back(trim(body.substr(start)));
  return cells;
}

JsonKind kind_of_cell(std::string_view cell) {
  if (cell.empty() || cell == "NULL" || cell == "null") return JsonKind::Null;
  const bool is_number = cell.find_first_not_of("0123456789-+.eE%") == std::string_view::npos &&
                         std::any_of(cell.begin(), cell.end(), is_digit);
  return is_number ? JsonKind::Number : JsonKind::String;
}

bool is_heading(const std::vector<std::string_view>& cells) {
  return cells.size() >= kFewestColumns &&
         std::all_of(cells.begin(), cells.end(), [](std::string_view cell) {
           return !cell.empty() && cell.size() <= kLongestTitle && !is_digit(cell.front()) &&
                  cell.find_first_of("{}=;()<>") == std::string_view::npos;
         });
}

// Returns the table with this divider, whose heading is among the first lines.
std::optional<ReadTable> read_with(Lines lines, std::string_view divider, std::size_t first_line) {
  ReadTable table;
  std::vector<std::uint32_t> columns;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const auto line = lines[at];
    if (is_blank(line) || is_table_rule(line)) continue;
    const auto cells = cells_of(line, divider);
    if (columns.empty() && is_heading(cells)) {
      for (const auto cell : cells)
        columns.push_back(table.set.column(RecordSet::kRoot, cell));
      continue;
    }
    if (columns.empty() || cells.size() != columns.size()) {
      table.other.push_back(line);
      if (table.other.size() > kMostOther) return std::nullopt;
      continue;
    }
    table.set.begin(first_line + at + 1);
    for (std::size_t cell = 0; cell < cells.size(); ++cell)
      table.set.add(columns[cell], kind_of_cell(cells[cell]), cells[cell]);
  }
  const std::size_t rows = table.set.records().size();
  if (rows < kFewestRows || table.other.size() * 10 > rows || table.set.is_full())
    return std::nullopt;
  return table;
}

}  // namespace

bool is_table_rule(std::string_view line) {
  constexpr std::array<std::string_view, 13> kParts = {"─", "┼", "┬", "┴", "├", "┤", "┌",
                                                       "┐", "└", "┘", "│", "═", "╪"};
  bool has_line = false;
  while (!line.empty()) {
    const char c = line.front();
    if (c == '-' || c == '+' || c == '=' || c == '|' || c == ':' || c == ' ' || c == '\t') {
      has_line = has_line || c == '-' || c == '=';
      line.remove_prefix(1);
      continue;
    }
    if (c != '\xe2') return false;  // with which each part begins
    const auto* part = std::find_if(kParts.begin(), kParts.end(),
                                    [&](std::string_view one) { return line.starts_with(one); });
    if (part == kParts.end()) return false;
    has_line = true;
    line.remove_prefix(part->size());
  }
  return has_line;
}

std::optional<ReadTable> read_divided_table(Lines lines, std::size_t first_line) {
  constexpr std::array<std::string_view, 4> kDividers = {"|", "│", "\t", ","};
  constexpr std::size_t kLinesToTell = 4;
  for (const auto divider : kDividers) {
    const auto head = lines.subspan(0, std::min(kLinesToTell, lines.size()));
    const bool may_be = std::any_of(head.begin(), head.end(),
                                    [&](std::string_view line) { return contains(line, divider); });
    if (!may_be) continue;
    if (auto table = read_with(lines, divider, first_line)) return table;
  }
  return std::nullopt;
}

}  // namespace nutshell::compaction
