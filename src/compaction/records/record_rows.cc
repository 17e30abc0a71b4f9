#include "compaction/records/record_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/compactor.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFewestForTable = 3;
constexpr std::size_t kMostTableColumns = 24;
// A short value that few rows share stays in each row, which then tells all of its record.
constexpr std::size_t kShortValue = 12;
constexpr std::size_t kFewRows = 60;

struct ColumnUse {
  std::uint32_t column = 0;
  std::size_t count = 0;
  const RecordCell* first = nullptr;
  bool is_same = true;
  bool has_trace = false;
};

// Columns of the chosen records, in order of appearance.
std::vector<ColumnUse> used_columns(const RowsInput& input) {
  std::vector<ColumnUse> used;
  std::vector<std::size_t> index(input.set.columns().size(), 0);
  for (const std::size_t chosen : input.chosen) {
    const Record& record = input.set.records()[chosen];
    for (std::size_t at = 0; at < record.cells; ++at) {
      const RecordCell& cell = input.set.cells(record)[at];
      if (input.hidden[cell.column]) continue;
      if (index[cell.column] == 0) {
        used.push_back({cell.column, 0, &cell});
        index[cell.column] = used.size();
      }
      ColumnUse& use = used[index[cell.column] - 1];
      ++use.count;
      use.is_same = use.is_same && use.first->raw == cell.raw;
      use.has_trace = use.has_trace || (cell.kind == JsonKind::String &&
                                        (contains(cell.raw, "\\n") || contains(cell.raw, "\n")));
    }
  }
  return used;
}

// Cells of a row are joined by `|`.
std::string cell_text(const RecordCell* cell) {
  if (cell == nullptr) return "";
  auto text = value_text(cell->raw, cell->kind, kLongestMessage);
  return contains(text, "|") ? fmt::format("\"{}\"", text) : text;
}

// Takes lines while there is room.
class Writer {
 public:
  explicit Writer(std::size_t most) : left_(most) {}

  bool add(const std::vector<std::string>& lines) {
    std::size_t tokens = 0;
    for (const auto& line : lines)
      tokens += estimate_tokens(line) + 1;
    if (tokens > left_) return false;
    left_ -= tokens;
    rows_.lines.insert(rows_.lines.end(), lines.begin(), lines.end());
    return true;
  }

  bool add_record(const std::vector<std::string>& lines) {
    if (!add(lines)) return false;
    ++rows_.shown;
    return true;
  }

  Rows finish() && { return std::move(rows_); }

 private:
  Rows rows_;
  std::size_t left_;
};

void add_each(const RowsInput& input, const HiddenColumns& hidden, Writer& writer) {
  for (const std::size_t chosen : input.chosen) {
    const Record& record = input.set.records()[chosen];
    auto lines = record_lines(input.set, record, hidden);
    lines.front().insert(0, place_text(record, input.place));
    if (!writer.add_record(lines)) return;
  }
}

std::string heading_of(const RowsInput& input, const std::vector<ColumnUse>& columns) {
  std::string heading;
  if (input.place == RecordPlace::Line) heading = "line|";
  if (input.place == RecordPlace::Index) heading = "#|";
  for (const ColumnUse& use : columns)
    heading += input.set.columns()[use.column].path + "|";
  if (!heading.empty()) heading.pop_back();
  return heading;
}

void add_table(const RowsInput& input, const std::vector<ColumnUse>& columns, Writer& writer) {
  if (!writer.add({heading_of(input, columns)})) return;
  std::vector<const RecordCell*> row(input.set.columns().size(), nullptr);
  for (const std::size_t chosen : input.chosen) {
    const Record& record = input.set.records()[chosen];
    for (std::size_t at = record.cells; at > 0; --at) {
      const RecordCell& cell = input.set.cells(record)[at - 1];
      row[cell.column] = &cell;
    }
    std::string line;
    if (input.place != RecordPlace::None) line = fmt::format("{}|", record.place);
    for (const ColumnUse& use : columns)
      line += cell_text(row[use.column]) + "|";
    if (!line.empty()) line.pop_back();
    if (!writer.add_record({line})) return;
    for (const ColumnUse& use : columns)
      row[use.column] = nullptr;
  }
}

}  // namespace

std::string place_text(const Record& record, RecordPlace place) {
  if (place == RecordPlace::Line) return fmt::format("{}: ", record.place);
  if (place == RecordPlace::Index) return fmt::format("[{}] ", record.place);
  return "";
}

Rows rows_of(const RowsInput& input) {
  Writer writer(input.most_tokens);
  if (input.chosen.size() < kFewestForTable) {
    add_each(input, input.hidden, writer);
    return std::move(writer).finish();
  }
  HiddenColumns hidden = input.hidden;
  HiddenColumns differing = input.hidden;
  std::vector<ColumnUse> columns;
  std::size_t cells = 0;
  bool has_same = false;
  bool has_trace = false;
  for (const ColumnUse& use : used_columns(input)) {
    const bool is_shared = use.is_same && use.count == input.chosen.size();
    const bool is_short = use.first->raw.size() <= kShortValue && input.chosen.size() <= kFewRows;
    if (is_shared && !is_short) {
      hidden[use.column] = true;
      has_same = true;
      continue;
    }
    differing[use.column] = true;
    columns.push_back(use);
    cells += use.count;
    has_trace = has_trace || use.has_trace;
  }
  if (has_same) {
    auto same = record_lines(input.set, input.set.records()[input.chosen.front()], differing,
                             FieldNames::All);
    same.front().insert(0, fmt::format("×{} ", input.chosen.size()));
    if (!writer.add(same)) return std::move(writer).finish();
  }
  const bool is_filled = cells * 10 >= columns.size() * input.chosen.size() * 7;
  if (is_filled && !has_trace && columns.size() <= kMostTableColumns)
    add_table(input, columns, writer);
  else
    add_each(input, hidden, writer);
  return std::move(writer).finish();
}

}  // namespace nutshell::compaction
