#include "compaction/parsers/table_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/parsers/divided_table_parser.h"
#include "compaction/records/record_set.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFewestRows = 3;
constexpr std::size_t kMostWholeBytes = 16U << 10U;  // of a larger table, a digest is shown

struct Column {
  std::string_view title;
  std::size_t start = 0;
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string_view>> rows;
};

bool is_title(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || is_digit(c) ||
           std::string_view(" %()-_/.#:").find(c) != std::string_view::npos;
  });
}

// Titles stand at least `gap` blanks apart, so that "CONTAINER ID" is one.
std::vector<Column> parse_heading(std::string_view line, std::size_t gap) {
  std::vector<Column> columns;
  const std::string blanks(gap, ' ');
  std::size_t at = indent_of(line);
  while (at < line.size()) {
    const auto end = std::min(line.find(blanks, at), line.size());
    columns.push_back({line.substr(at, end - at), at});
    at = std::min(line.find_first_not_of(' ', end), line.size());
  }
  return columns;
}

// A cell begins where its title does; one that is too long pushes the rest, and then the table is
// not taken.
bool split_by_start(const std::vector<Column>& columns, std::string_view line,
                    std::vector<std::string_view>& cells) {
  for (std::size_t index = 0; index < columns.size(); ++index) {
    const std::size_t start = columns[index].start;
    const bool is_last = index + 1 == columns.size();
    const std::size_t end = is_last ? line.size() : columns[index + 1].start;
    if (start > line.size()) {
      cells.emplace_back();
      continue;
    }
    if (start > 0 && line[start - 1] != ' ') return false;
    cells.push_back(trim(line.substr(start, end - start)));
  }
  return true;
}

// For right-aligned columns of single words, as ps(1) prints them: the last takes what is left.
bool split_by_words(std::size_t count, std::string_view line,
                    std::vector<std::string_view>& cells) {
  for (std::size_t index = 0; index + 1 < count; ++index)
    cells.push_back(take_word(line));
  cells.push_back(trim(line));
  return !cells.back().empty();
}

// Rows are joined by `|`: only the last cell may hold one of its own.
bool is_ambiguous(const std::vector<std::string_view>& cells) {
  return std::any_of(cells.begin(), cells.end() - 1,
                     [](std::string_view cell) { return contains(cell, "|"); });
}

bool is_wide(const CommandWords& command) {
  return command.starts_with({"ps"}) || command.starts_with({"df"}) ||
         command.starts_with({"top"}) || command.starts_with({"free"});
}

std::optional<Table> read_table(const ParserInput& input) {
  if (input.lines.size() < kFewestRows + 1) return std::nullopt;
  const auto heading = input.lines.front();
  const bool by_words = is_wide(input.command);
  Table table;
  table.columns = parse_heading(heading, by_words ? 1 : 2);
  const bool is_heading = table.columns.size() >= 3 && is_title(heading);
  if (!is_heading) return std::nullopt;
  for (const auto line : input.lines.subspan(1)) {
    if (is_blank(line)) continue;
    auto& cells = table.rows.emplace_back();
    const bool is_row = by_words ? split_by_words(table.columns.size(), line, cells)
                                 : split_by_start(table.columns, line, cells);
    if (!is_row || is_ambiguous(cells)) return std::nullopt;
  }
  if (table.rows.size() < kFewestRows) return std::nullopt;
  return table;
}

bool is_constant(const Table& table, std::size_t column) {
  const auto value = table.rows.front()[column];
  return std::all_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return row[column] == value; });
}

bool recognises_table(const ParserInput& input) {
  return read_table(input).has_value();
}

std::string join_cells(const std::vector<std::string_view>& cells, std::string_view separator) {
  return fmt::format("{}", fmt::join(cells, separator));
}

// docker's PORTS name one published port twice, for IPv4 and for IPv6.
std::string without_second_binding(std::string_view ports) {
  std::vector<std::string_view> kept;
  const auto bindings = split(ports, ',');
  for (const auto binding : bindings) {
    auto target = trim(binding);
    const bool is_six = take_prefix(target, ":::") || take_prefix(target, "[::]:");
    const bool has_twin = is_six && std::any_of(bindings.begin(), bindings.end(), [&](auto other) {
                            auto four = trim(other);
                            return take_prefix(four, "0.0.0.0:") && four == target;
                          });
    if (!has_twin) kept.push_back(trim(binding));
  }
  return fmt::format("{}", fmt::join(kept, ","));
}

// docker ps: a container has a name; its id, its command cut by docker and its age besides that of
// its status say little.
bool is_minor(const Table& table, std::size_t column) {
  const auto has = [&](std::string_view title) {
    return std::any_of(table.columns.begin(), table.columns.end(),
                       [&](const Column& other) { return other.title == title; });
  };
  if (!has("CONTAINER ID") || !has("NAMES") || !has("STATUS")) return false;
  const auto title = table.columns[column].title;
  if (title == "CONTAINER ID" || title == "CREATED") return true;
  return title == "COMMAND" && std::any_of(table.rows.begin(), table.rows.end(),
                                           [](const auto& row) { return contains(row[2], "…"); });
}

// Says what all rows share, and gives the columns in which they differ.
std::vector<std::size_t> split_off_constants(const Table& table, Facts& facts) {
  std::vector<std::size_t> varying;
  std::string constant;
  bool has_minor = false;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    if (is_minor(table, column)) {
      has_minor = true;
      continue;
    }
    if (!is_constant(table, column)) {
      varying.push_back(column);
      continue;
    }
    const auto value = table.rows.front()[column];
    constant += fmt::format("{}{}={}", constant.empty() ? "all: " : ", ",
                            table.columns[column].title, value.empty() ? "-" : value);
  }
  if (!constant.empty()) facts.kept.push_back(constant);
  if (has_minor) facts.omitted.push_back({"ids, ages and cut commands", table.rows.size()});
  return varying;
}

std::size_t bytes_of(Lines lines) {
  std::size_t bytes = 0;
  for (const auto line : lines)
    bytes += line.size() + 1;
  return bytes;
}

RecordSet records_of(const Table& table, Lines lines) {
  RecordSet set;
  std::vector<std::uint32_t> columns;
  columns.reserve(table.columns.size());
  for (const Column& column : table.columns)
    columns.push_back(set.column(RecordSet::kRoot, column.title));
  std::size_t line = 1;
  for (const auto& row : table.rows) {
    while (line + 1 < lines.size() && is_blank(lines[line]))
      ++line;
    set.begin(++line);
    for (std::size_t at = 0; at < row.size(); ++at) {
      const bool is_number = !row[at].empty() && is_digit(row[at].front()) &&
                             row[at].find_first_not_of("0123456789.") == std::string_view::npos;
      set.add(columns[at], is_number ? JsonKind::Number : JsonKind::String, row[at]);
    }
  }
  return set;
}

std::optional<Facts> parse_table(const ParserInput& input) {
  const auto table = read_table(input);
  if (!table) return std::nullopt;
  Facts facts;
  facts.is_data = true;
  facts.tool = input.command.words.empty() ? "table" : input.command.words.front();
  facts.totals = {{"rows", table->rows.size()}};
  if (bytes_of(input.lines) > kMostWholeBytes)
    return facts_of_rows(records_of(*table, input.lines), {}, facts.tool);
  const auto varying = split_off_constants(*table, facts);
  std::vector<std::string_view> cells;
  cells.reserve(varying.size());
  for (const std::size_t column : varying)
    cells.push_back(table->columns[column].title);
  facts.kept.push_back(join_cells(cells, "|"));
  for (const auto& row : table->rows) {
    std::string ports;
    cells.clear();
    for (const std::size_t column : varying) {
      if (table->columns[column].title == "PORTS") ports = without_second_binding(row[column]);
      cells.push_back(table->columns[column].title == "PORTS" ? ports : row[column]);
    }
    facts.kept.push_back(join_cells(cells, "|"));
  }
  return facts;
}

}  // namespace

Parser table_parser() {
  return {"table", recognises_table, parse_table};
}

}  // namespace nutshell::compaction
