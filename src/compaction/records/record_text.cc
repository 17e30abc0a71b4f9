#include "compaction/records/record_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8_text.h"
#include "compaction/text_scan.h"
#include "compaction/trace_lines.h"
#include "core/json_values.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kLongestRecordLine = 900;  // a longer record is shown on several lines

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n')
      line += "\\n";
    else
      line += c;
  }
  return line;
}

// Returns whether a string without its quotes reads as a number, null, true or false.
bool looks_typed(std::string_view text) {
  if (text.empty() || text == "null" || text == "true" || text == "false") return true;
  if (text.front() == '"' || text.front() == ' ' || text.back() == ' ') return true;
  return (is_digit(text.front()) || text.front() == '-') && text.size() < 20 &&
         text.find_first_not_of("0123456789-+.eE") == std::string_view::npos;
}

bool is_multi_line(const RecordCell& cell) {
  return cell.kind == JsonKind::String && (contains(cell.raw, "\\n") || contains(cell.raw, "\n"));
}

// The lines of a trace inside a value, below the record.
void append_trace(std::string_view raw, JsonKind kind, std::vector<std::string>& lines) {
  constexpr std::size_t kMostLines = 12;
  const auto text = json_text(raw, kind);
  const auto summary = summary_of_trace(split(text, '\n'));
  const std::size_t shown = std::min(kMostLines, summary.lines.size());
  for (std::size_t at = 0; at < shown; ++at)
    lines.push_back("  " + cut_text(trim(summary.lines[at]), kLongestMessage));
  const std::size_t left_out = summary.left_out + summary.lines.size() - shown;
  if (left_out > 0) lines.back() += fmt::format(" (+{} lines)", left_out);
}

std::string quoted_if_needed(std::string text) {
  const bool is_plain = text.find_first_of(" \t|") == std::string::npos;
  if (is_plain || text.starts_with('"') || text.starts_with('{') || text.starts_with('['))
    return text;
  return fmt::format("\"{}\"", text);
}

// The order in which the fields of a record are read.
int rank_of(FieldRole role, std::string_view path) {
  const bool is_nested = contains(path, ".");
  if (role == FieldRole::Time && !is_nested) return 0;
  if (role == FieldRole::Level && !is_nested) return 1;
  if (role == FieldRole::Message && !is_nested) return 2;
  if (role == FieldRole::Error) return 3;
  return 4;
}

}  // namespace

std::string cut_text(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const std::string_view shown = whole_characters(text, most);
  const std::size_t left = count_characters(text.substr(shown.size()));
  return fmt::format("{}…(+{} chars)", shown, left);
}

std::string value_text(std::string_view raw, JsonKind kind, std::size_t most) {
  if (kind == JsonKind::Array || kind == JsonKind::Object)
    return cut_text(without_blanks(raw), most);
  if (kind != JsonKind::String) return cut_text(raw, most);
  auto text = on_one_line(json_text(raw, kind));
  if (raw.starts_with('"') && looks_typed(text)) return cut_text(raw, most);
  return cut_text(text, most);
}

std::vector<std::string> record_lines(const RecordSet& set, const Record& record,
                                      const HiddenColumns& hidden, FieldNames names) {
  std::vector<const RecordCell*> cells;
  for (std::size_t at = 0; at < record.cells; ++at) {
    const RecordCell* const cell = set.cells(record) + at;
    if (!hidden[cell->column]) cells.push_back(cell);
  }
  const auto rank = [&](const RecordCell* cell) {
    const RecordColumn& column = set.columns()[cell->column];
    return rank_of(column.role, column.path);
  };
  std::stable_sort(cells.begin(), cells.end(),
                   [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  std::vector<std::string> lines(1);
  std::vector<std::string> traces;
  bool has_message = false;
  for (const RecordCell* cell : cells) {
    const RecordColumn& column = set.columns()[cell->column];
    const int order = rank(cell);
    const bool is_bare = names == FieldNames::Usual && cell->kind == JsonKind::String &&
                         order <= 2 && !(order == 2 && has_message);
    const bool is_more = column.path == kMoreLines;
    const bool may_be_trace = column.role == FieldRole::Stack || column.role == FieldRole::Error ||
                              column.role == FieldRole::Message;
    const bool is_trace = is_more || (is_multi_line(*cell) && may_be_trace);
    std::string& line = lines.back();
    if (is_trace) {
      if (!is_more) line += fmt::format(" {}:", column.path);
      append_trace(cell->raw, cell->kind, traces);
      continue;
    }
    const bool is_long = order == 2 || order == 3 || column.role == FieldRole::Message;
    const auto text = value_text(cell->raw, cell->kind, is_long ? kLongestMessage : kLongestValue);
    const auto field = is_bare ? text : fmt::format("{}={}", column.path, quoted_if_needed(text));
    const bool is_full = line.size() + field.size() > kLongestRecordLine && !line.empty();
    if (is_full)
      lines.emplace_back("  " + field);
    else
      line += (line.empty() ? "" : " ") + field;
    has_message = has_message || order == 2;
  }
  lines.insert(lines.end(), traces.begin(), traces.end());
  return lines;
}

}  // namespace nutshell::compaction
