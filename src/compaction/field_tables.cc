#include "compaction/field_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "compaction/body_line.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFewestRows = 3;
constexpr std::size_t kFewestKeys = 3;
constexpr std::size_t kLongestKey = 40;
constexpr std::size_t kLongestValue = 200;

struct Field {
  std::string_view key;
  std::string_view value;

  bool operator==(const Field&) const = default;
};

using Fields = std::vector<Field>;

std::optional<Field> read_field(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > kLongestKey) return std::nullopt;
  const auto key = line.substr(0, colon);
  const auto rest = line.substr(colon + 1);
  const auto value = trim(rest);
  const bool is_key = key.find_first_of("{}\"'<>()|=/,") == std::string_view::npos &&
                      indent_of(key) == 0 && !contains(key, "  ");
  const bool is_value = rest.starts_with(" ") && !value.empty() && value.size() <= kLongestValue &&
                        !contains(value, "|");
  return is_key && is_value ? std::optional(Field{key, value}) : std::nullopt;
}

// The fields of a paragraph; empty if a line of it is none.
Fields read_fields(Lines lines, const LineBlock& paragraph) {
  Fields fields;
  for (std::size_t at = paragraph.first; at < paragraph.first + paragraph.lines; ++at) {
    const auto field = read_field(lines[at]);
    if (!field) return {};
    fields.push_back(*field);
  }
  return fields.size() >= kFewestKeys ? fields : Fields();
}

bool have_same_keys(const Fields& one, const Fields& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const Field& a, const Field& b) { return a.key == b.key; });
}

FieldTable table_of(std::size_t first, std::span<const Fields> paragraphs) {
  FieldTable table;
  table.first = first;
  table.rows.resize(paragraphs.size());
  std::string shared;
  std::string keys;
  for (std::size_t column = 0; column < paragraphs.front().size(); ++column) {
    const Field& field = paragraphs.front()[column];
    const bool is_shared = std::all_of(paragraphs.begin(), paragraphs.end(),
                                       [&](const Fields& other) { return other[column] == field; });
    if (is_shared) {
      const auto* const quote = contains(field.value, " ") ? "\"" : "";
      shared += fmt::format(" {}={}{}{}", field.key, quote, field.value, quote);
      continue;
    }
    const auto* const bar = keys.empty() ? "" : "|";
    keys += fmt::format("{}{}", bar, field.key);
    for (std::size_t at = 0; at < paragraphs.size(); ++at)
      table.rows[at] += fmt::format("{}{}", bar, paragraphs[at][column].value);
  }
  for (std::string& row : table.rows)
    row = shortened(as_data(row));
  if (!shared.empty()) table.head = as_data("all:" + shared) + "\n";
  table.head += as_data(keys) + "\n";
  return table;
}

}  // namespace

std::vector<FieldTable> find_field_tables(Lines lines, const std::vector<LineBlock>& paragraphs) {
  std::vector<Fields> all;
  all.reserve(paragraphs.size());
  for (const LineBlock& paragraph : paragraphs)
    all.push_back(read_fields(lines, paragraph));
  std::vector<FieldTable> tables;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t end = at + 1;
    while (end < all.size() && !all[at].empty() && have_same_keys(all[at], all[end]))
      ++end;
    const std::span<const Fields> run(all.data() + at, end - at);
    const bool is_varied =
        std::any_of(run.begin(), run.end(), [&](const Fields& one) { return one != run.front(); });
    if (run.size() >= kFewestRows && is_varied) tables.push_back(table_of(at, run));
    at = end;
  }
  return tables;
}

}  // namespace nutshell::compaction
