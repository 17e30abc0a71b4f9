#include "tools/json_part.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json_values.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

constexpr std::size_t kMostLineBytes = 2000;

std::string shown(std::string_view json) {
  const auto line = without_blanks(json);
  if (line.size() <= kMostLineBytes) return model_text(line);
  return model_text(std::string_view(line).substr(0, kMostLineBytes)) +
         fmt::format("…(+{} bytes)", line.size() - kMostLineBytes);
}

std::optional<std::size_t> take_index(std::string_view& text) {
  constexpr std::size_t kMostDigits = 9;
  std::size_t digits = 0;
  std::size_t number = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    if (digits == kMostDigits) return std::nullopt;
    number = number * 10 + static_cast<std::size_t>(text[digits++] - '0');
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

// The nodes that `rows` counts: outermost values, elements or members.
std::vector<std::size_t> rows_of(const FoundJson& json, std::optional<std::size_t> node) {
  if (!node) return json.roots;
  std::vector<std::size_t> rows;
  const auto& nodes = json.tree.nodes;
  for (std::size_t at = *node + 1; at < nodes[*node].next; at = nodes[at].next)
    rows.push_back(at);
  return rows;
}

// Says how far a pointer leads, and what is there.
JsonPart unknown_pointer(const FoundJson& json, std::string_view pointer) {
  std::string_view known = pointer;
  while (!known.empty() && !find_pointer(json, known))
    known = known.substr(0, known.rfind('/') == std::string_view::npos ? 0 : known.rfind('/'));
  JsonPart part;
  part.problem = fmt::format("Nothing is at `pointer` {}.", model_text(pointer));
  if (!pointer.empty() && pointer.front() != '/') {
    part.advice = "A JSON pointer begins with a slash, such as /items/17.";
    return part;
  }
  const auto node = find_pointer(json, known);
  const auto rows = rows_of(json, node);
  const auto where = known.empty() ? std::string("The JSON") : model_text(known);
  const bool is_object = node && json.tree.nodes[*node].kind == JsonKind::Object;
  if (!is_object) {
    part.advice = fmt::format("{} has {} elements, counted from 0.", where, rows.size());
    return part;
  }
  constexpr std::size_t kMostKeys = 12;
  part.advice = fmt::format("{} has the keys", where);
  for (std::size_t at = 0; at < std::min(kMostKeys, rows.size()); ++at)
    part.advice += " " + model_text(json_key_text(json.text, json.tree.nodes[rows[at]])) + ",";
  part.advice.back() = rows.size() > kMostKeys ? ';' : '.';
  if (rows.size() > kMostKeys) part.advice += fmt::format(" {} more.", rows.size() - kMostKeys);
  return part;
}

}  // namespace

std::optional<RowRange> parse_rows(std::string_view text) {
  const auto first = take_index(text);
  if (!first) return std::nullopt;
  if (text.empty()) return RowRange{*first, *first};
  if (text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  const auto last = take_index(text);
  if (!last || !text.empty() || *last < *first) return std::nullopt;
  return RowRange{*first, *last};
}

JsonPart select_json(std::string text, std::string_view pointer, std::optional<RowRange> rows,
                     std::size_t most_bytes) {
  const auto json = find_json(std::move(text));
  JsonPart part;
  if (!json) {
    part.problem = "The output is not JSON, so `pointer` and `rows` select nothing.";
    part.advice = "Use `offset` and `limit` for lines, or `grep`.";
    return part;
  }
  const auto node = find_pointer(*json, pointer);
  if (!node && (!pointer.empty() || json->roots.size() == 1))
    return unknown_pointer(*json, pointer);
  part.name = model_text(pointer);
  if (node && !json->tree.is_container(*node)) {
    const JsonNode& value = json->tree.nodes[*node];
    part.lines = {model_text(json_text(json_raw(json->text, value), value.kind))};
    part.total = 1;
    return part;
  }
  const auto elements = rows_of(*json, node);
  const auto range = rows.value_or(RowRange{0, elements.empty() ? 0 : elements.size() - 1});
  part.total = elements.size();
  part.first = range.first;
  part.has_rows = true;
  if (range.first >= elements.size() && !elements.empty()) {
    part.problem = fmt::format("`rows` begins at {}, behind the end.", range.first);
    part.advice = fmt::format("There are {} rows, 0 to {}.", elements.size(), elements.size() - 1);
    return part;
  }
  std::size_t bytes = 0;
  for (std::size_t at = range.first; at <= range.last && at < elements.size(); ++at) {
    if (bytes > most_bytes) break;
    const JsonNode& element = json->tree.nodes[elements[at]];
    const auto key = json_key_text(json->text, element);
    const bool has_key = element.key_end > element.key_begin;
    part.lines.push_back((has_key ? model_text(key) : fmt::format("[{}]", at)) +
                         (has_key ? ": " : " ") + shown(json_raw(json->text, element)));
    bytes += part.lines.back().size();
  }
  return part;
}

}  // namespace nutshell
