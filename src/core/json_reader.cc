#include "core/json_reader.h"

#include <array>

#include "base/utf8_text.h"

namespace nutshell {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_blank_byte(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::optional<std::uint32_t> hex_value(std::string_view digits) {
  if (digits.size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : digits.substr(0, 4)) {
    const char low = static_cast<char>(c | 0x20);
    if (is_digit(c))
      value = value * 16 + static_cast<std::uint32_t>(c - '0');
    else if (low >= 'a' && low <= 'f')
      value = value * 16 + static_cast<std::uint32_t>(low - 'a' + 10);
    else
      return std::nullopt;
  }
  return value;
}

// Decodes `\uXXXX`, with its second half if it is a surrogate. Returns the bytes read, 0 if
// malformed or a control character, which stays as written.
std::size_t take_escape(std::string_view raw, std::string& text) {
  const auto first = raw.starts_with("\\u") ? hex_value(raw.substr(2)) : std::nullopt;
  if (!first || *first < 0x20U || *first == 0x7fU) return 0;
  if (*first < 0xd800U || *first > 0xdfffU) {
    append_utf8(text, *first);
    return 6;
  }
  const auto rest = raw.substr(6);
  const auto second = rest.starts_with("\\u") ? hex_value(rest.substr(2)) : std::nullopt;
  if (*first > 0xdbffU || !second || *second < 0xdc00U || *second > 0xdfffU) return 0;
  append_utf8(text, 0x10000U + ((*first - 0xd800U) << 10U) + (*second - 0xdc00U));
  return 12;
}

}  // namespace

std::string_view json_raw(std::string_view text, const JsonNode& node) {
  return text.substr(node.begin, node.end - node.begin);
}

std::string_view json_key(std::string_view text, const JsonNode& node) {
  return text.substr(node.key_begin, node.key_end - node.key_begin);
}

std::string json_key_text(std::string_view text, const JsonNode& node) {
  if (node.key_begin == node.key_end) return "";
  const auto quoted = text.substr(node.key_begin - 1, node.key_end - node.key_begin + 2);
  return json_text(quoted, JsonKind::String);
}

std::string json_text(std::string_view raw, JsonKind kind) {
  if (kind != JsonKind::String || raw.size() < 2 || raw.front() != '"' || raw.back() != '"')
    return std::string(raw);
  raw = raw.substr(1, raw.size() - 2);
  if (raw.find('\\') == std::string_view::npos) return std::string(raw);
  std::string text;
  text.reserve(raw.size());
  while (!raw.empty()) {
    if (raw.front() != '\\' || raw.size() == 1) {
      text += raw.front();
      raw.remove_prefix(1);
      continue;
    }
    const auto taken = take_escape(raw, text);
    if (taken > 0) {
      raw.remove_prefix(taken);
      continue;
    }
    const char c = raw[1];
    if (c == '"' || c == '\\' || c == '/')
      text += c;
    else if (c == 'n')
      text += '\n';
    else if (c == 't')
      text += '\t';
    else if (c != 'r')
      text += raw.substr(0, 2);
    raw.remove_prefix(2);
  }
  return text;
}

std::optional<std::size_t> JsonReader::read(std::size_t at, JsonTree& tree, bool accepts_cut) {
  at_ = at;
  open_.clear();
  const std::size_t first = tree.nodes.size();
  do {
    skip_blanks();
    const bool is_cut = at_ >= text_.size();
    if (is_cut || !read_value(tree)) {
      const bool is_usable = accepts_cut && at_ >= text_.size() && tree.nodes.size() > first;
      if (!is_usable) {
        tree.nodes.resize(first);
        return std::nullopt;
      }
      while (!open_.empty())
        close(tree);
      tree.is_complete = false;
      return at_;
    }
  } while (!open_.empty());
  return at_;
}

// Reads one value, or the end of the container that is open.
bool JsonReader::read_value(JsonTree& tree) {
  if (tree.nodes.size() >= kMostNodes) return false;
  JsonNode node;
  const char c = text_[at_];
  if (!open_.empty()) {
    const JsonNode& parent = tree.nodes[open_.back()];
    const bool is_object = parent.kind == JsonKind::Object;
    if (c == (is_object ? '}' : ']')) {
      ++at_;
      close(tree);
      return true;
    }
    if (parent.children > 0) {
      if (c != ',') return false;
      ++at_;
      skip_blanks();
      if (at_ >= text_.size()) return false;
    }
    if (is_object && !read_key(node)) return false;
  }
  node.begin = static_cast<std::uint32_t>(at_);
  const char start = text_[at_];
  if (start == '{' || start == '[') {
    node.kind = start == '{' ? JsonKind::Object : JsonKind::Array;
    ++at_;
    return open(tree, node);
  }
  const bool is_read = start == '"' ? skip_string() : skip_word();
  if (!is_read) return false;
  if (start == '"')
    node.kind = JsonKind::String;
  else if (start == 't' || start == 'f')
    node.kind = JsonKind::Bool;
  else if (start != 'n')
    node.kind = JsonKind::Number;
  node.end = static_cast<std::uint32_t>(at_);
  node.next = static_cast<std::uint32_t>(tree.nodes.size() + 1);
  if (!open_.empty()) ++tree.nodes[open_.back()].children;
  tree.nodes.push_back(node);
  return true;
}

bool JsonReader::read_key(JsonNode& node) {
  const std::size_t begin = at_ + 1;
  if (text_[at_] != '"' || !skip_string()) return false;
  node.key_begin = static_cast<std::uint32_t>(begin);
  node.key_end = static_cast<std::uint32_t>(at_ - 1);
  skip_blanks();
  if (at_ >= text_.size() || text_[at_] != ':') return false;
  ++at_;
  skip_blanks();
  return at_ < text_.size();
}

bool JsonReader::open(JsonTree& tree, JsonNode node) {
  if (open_.size() >= kMostDepth) return false;
  if (!open_.empty()) ++tree.nodes[open_.back()].children;
  open_.push_back(static_cast<std::uint32_t>(tree.nodes.size()));
  tree.nodes.push_back(node);
  return true;
}

void JsonReader::close(JsonTree& tree) {
  JsonNode& node = tree.nodes[open_.back()];
  node.end = static_cast<std::uint32_t>(at_);
  node.next = static_cast<std::uint32_t>(tree.nodes.size());
  open_.pop_back();
}

bool JsonReader::skip_string() {
  for (++at_; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return true;
    }
    if (c == '\n') return false;
    if (c == '\\') ++at_;
  }
  at_ = text_.size();
  return false;
}

bool JsonReader::skip_word() {
  const auto rest = text_.substr(at_);
  constexpr std::array<std::string_view, 6> kWords = {"true", "false",    "null",
                                                      "NaN",  "Infinity", "-Infinity"};
  for (const auto word : kWords) {
    if (!rest.starts_with(word)) continue;
    at_ += word.size();
    return true;
  }
  std::size_t length = 0;
  bool has_digit = false;
  while (length < rest.size() &&
         (is_digit(rest[length]) ||
          std::string_view("+-.eE").find(rest[length]) != std::string_view::npos)) {
    has_digit = has_digit || is_digit(rest[length]);
    ++length;
  }
  const bool starts_well = is_digit(rest.front()) || rest.front() == '-';
  // A word that the text's end cuts off counts as the end, not as a fault.
  for (const auto word : kWords) {
    if (word.starts_with(rest)) at_ = text_.size();
  }
  if (!starts_well || !has_digit) return false;
  at_ += length;
  return true;
}

void JsonReader::skip_blanks() {
  while (at_ < text_.size() && is_blank_byte(text_[at_]))
    ++at_;
}

}  // namespace nutshell
