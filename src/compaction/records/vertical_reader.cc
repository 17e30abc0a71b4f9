#include "compaction/records/vertical_reader.h"

#include <algorithm>
#include <string_view>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFewestRecords = 20;
constexpr std::size_t kFewestFields = 2;
constexpr std::size_t kMostOther = 12;
constexpr std::size_t kLongestKey = 40;

// "*** 3. row ***", "-[ RECORD 3 ]---", a blank line, "-----"
bool is_separator(std::string_view line) {
  const auto text = trim(line);
  if (text.empty() || text.starts_with("-[ RECORD ")) return true;
  if (text.starts_with("***") && contains(text, ". row")) return true;
  return text.size() >= 3 && text.find_first_not_of("-=") == std::string_view::npos;
}

struct Field {
  std::string_view key;
  std::string_view value;
  std::size_t divider = 0;  // its column
};

std::optional<Field> read_field(std::string_view line) {
  for (const std::string_view divider : {" | ", ":", " = "}) {
    const auto at = line.find(divider);
    const bool is_empty_cell = divider == " | " && line.ends_with(" |");
    if (at == std::string_view::npos && !is_empty_cell) continue;
    const auto end = is_empty_cell && at == std::string_view::npos ? line.size() - 2 : at;
    const auto key = trim(line.substr(0, end));
    const auto rest = line.substr(std::min(line.size(), end + divider.size()));
    const bool is_key = !key.empty() && key.size() <= kLongestKey && !contains(key, "  ") &&
                        key.find_first_of("{}\"'<>()") == std::string_view::npos;
    const bool is_apart =
        divider != ":" || rest.empty() || rest.front() == ' ' || rest.front() == '\t';
    if (is_key && is_apart) return Field{key, trim(rest), end};
  }
  return std::nullopt;
}

JsonKind kind_of_value(std::string_view value) {
  if (value.empty() || value == "NULL") return JsonKind::Null;
  const bool is_number = value.find_first_not_of("0123456789-+.eE%") == std::string_view::npos &&
                         std::any_of(value.begin(), value.end(), is_digit);
  return is_number ? JsonKind::Number : JsonKind::String;
}

class VerticalReader {
 public:
  std::optional<ReadTable> read(Lines lines) {
    bool is_open = false;
    for (std::size_t at = 0; at < lines.size(); ++at) {
      if (is_separator(lines[at])) {
        is_open = false;
        continue;
      }
      const auto field = read_field(lines[at]);
      if (!field) {
        table_.other.push_back(lines[at]);
        if (table_.other.size() > kMostOther) return std::nullopt;
        continue;
      }
      if (!is_open) begin(at, field->key);
      is_open = true;
      count_column(lines[at], *field);
      table_.set.add(table_.set.column(RecordSet::kRoot, field->key), kind_of_value(field->value),
                     field->value);
    }
    return is_sure() ? std::optional(std::move(table_)) : std::nullopt;
  }

 private:
  void begin(std::size_t at, std::string_view key) {
    if (first_key_.empty()) first_key_ = key;
    same_start_ += key == first_key_ ? 1 : 0;
    table_.set.begin(at + 1);
  }

  // Keys begin or end in one column. Those of nested values, as in YAML, do not.
  void count_column(std::string_view line, const Field& field) {
    if (fields_ == 0) {
      indent_ = indent_of(line);
      divider_ = field.divider;
    }
    ++fields_;
    same_indent_ += indent_of(line) == indent_ ? 1 : 0;
    same_divider_ += field.divider == divider_ ? 1 : 0;
  }

  [[nodiscard]] bool is_sure() const {
    if (std::max(same_indent_, same_divider_) * 20 < fields_ * 19) return false;
    const auto& records = table_.set.records();
    if (records.size() < kFewestRecords || table_.set.is_full()) return false;
    const auto filled = static_cast<std::size_t>(
        std::count_if(records.begin(), records.end(),
                      [](const Record& record) { return record.cells >= kFewestFields; }));
    return filled * 10 >= records.size() * 9 && same_start_ * 10 >= records.size() * 8 &&
           table_.other.size() * 10 <= records.size();
  }

  ReadTable table_;
  std::string_view first_key_;
  std::size_t same_start_ = 0;
  std::size_t fields_ = 0;
  std::size_t indent_ = 0;   // of the first field
  std::size_t divider_ = 0;  // and the column of its divider
  std::size_t same_indent_ = 0;
  std::size_t same_divider_ = 0;
};

}  // namespace

std::optional<ReadTable> read_vertical_records(Lines lines) {
  return VerticalReader().read(lines);
}

}  // namespace nutshell::compaction
