#include "compaction/clean.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "base/safe_text.h"
#include "base/utf8.h"

namespace nutshell::compaction {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';
constexpr std::size_t kChunkBytes = 64U << 10U;

bool is_plain(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return (byte >= 0x20 && byte < 0x7f) || byte == '\t';
}

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

// Looks at eight bytes at once: false if each is printable ASCII.
bool may_be_odd(std::string_view word) {
  constexpr std::uint64_t kEach = 0x0101010101010101ULL;
  constexpr std::uint64_t kHigh = kEach * 0x80;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, word.data(), kWordBytes);
  const std::uint64_t small = bytes - kEach * 0x20;  // borrows where a byte is below 0x20
  const std::uint64_t large = bytes + kEach;         // carries into the high bit of 0x7f
  return ((bytes | small | large) & kHigh) != 0;
}

// Returns the length of the escape sequence at the start of `text`; one that is cut off takes the
// rest.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  std::size_t at = 2;
  const char kind = text[1];
  if (kind == '[') {  // CSI: up to a byte from @ to ~
    while (at < text.size() && (text[at] < '@' || text[at] > '~'))
      ++at;
    return std::min(at + 1, text.size());
  }
  if (kind == ']' || kind == 'P' || kind == '_' || kind == '^') {  // a string: up to BEL or ESC
    while (at < text.size() && text[at] != kBell && text[at] != kEscape)
      ++at;
    if (at < text.size() && text[at] == kEscape) ++at;
    return std::min(at + 1, text.size());
  }
  if (kind == '(' || kind == ')') return std::min<std::size_t>(3, text.size());
  return 2;
}

// Terminals obey control characters beyond ASCII, and invisible characters can hide text.
bool is_harmful(char32_t character) {
  return (character >= 0x80 && character < 0xa0) || is_hidden_character(character);
}

// Appends a printable form of the odd character at the start of `text`; returns its length in
// bytes.
std::size_t append_shown(std::string& shown, std::string_view text) {
  const auto byte = static_cast<unsigned char>(text.front());
  if (text.front() == kEscape) return escape_length(text);
  if (text.front() == '\b') {
    if (!shown.empty()) shown.pop_back();
    return 1;
  }
  const std::size_t length = byte >= 0x80 ? utf8_length(text) : 0;
  if (length > 0) {
    const char32_t character = utf8_character(text.substr(0, length));
    if (is_harmful(character)) {
      fmt::format_to(std::back_inserter(shown), "\\u{{{:x}}}", static_cast<unsigned>(character));
    } else {
      shown += text.substr(0, length);
    }
    return length;
  }
  fmt::format_to(std::back_inserter(shown), "\\x{:02x}", byte);
  return 1;
}

std::string show(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto odd = std::find_if_not(text.begin(), text.end(), is_plain);
    const auto plain = text.substr(0, static_cast<std::size_t>(odd - text.begin()));
    shown += plain;
    text.remove_prefix(plain.size());
    if (!text.empty()) text.remove_prefix(append_shown(shown, text));
  }
  return shown;
}

}  // namespace

bool needs_cleaning(std::string_view line) {
  const auto is_odd = [](char character) { return !is_plain(character); };
  while (line.size() >= kWordBytes) {
    const auto word = line.substr(0, kWordBytes);
    if (may_be_odd(word) && std::any_of(word.begin(), word.end(), is_odd)) return true;
    line.remove_prefix(kWordBytes);
  }
  return std::any_of(line.begin(), line.end(), is_odd);
}

std::string clean_line(std::string_view line) {
  while (!line.empty() && line.back() == '\r')
    line.remove_suffix(1);
  // A carriage return starts the line over. What was longer before stays on a real screen, but
  // programs that draw progress erase it, and an escape that does so is not interpreted here.
  while (true) {
    const auto at = line.rfind('\r');
    const auto last = at == std::string_view::npos ? line : line.substr(at + 1);
    auto shown = show(last);
    const bool is_empty = std::all_of(shown.begin(), shown.end(), [](char c) { return c == ' '; });
    if (at == std::string_view::npos || !is_empty) return shown;
    line = line.substr(0, at);  // nothing followed the carriage return, so the text before it stays
  }
}

std::string_view take_line(std::string_view& bytes) {
  const auto end = bytes.find('\n');
  auto line = bytes.substr(0, end);
  bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

CleanText::CleanText(std::string_view output, std::string_view error) {
  add(output);
  error_line_ = lines_.size();
  add(error);
}

void CleanText::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto line = take_line(bytes);
    lines_.push_back(needs_cleaning(line) ? store(clean_line(line)) : line);
  }
}

std::string_view CleanText::store(std::string_view text) {
  if (chunks_.empty() || chunks_.back().capacity() - chunks_.back().size() < text.size()) {
    chunks_.emplace_back().reserve(std::max(kChunkBytes, text.size()));
  }
  std::string& chunk = chunks_.back();
  const std::size_t at = chunk.size();
  chunk += text;
  return std::string_view(chunk).substr(at);
}

std::string CleanText::joined() const {
  std::size_t size = 0;
  for (const auto line : lines_)
    size += line.size() + 1;
  std::string text;
  text.reserve(size);
  for (const auto line : lines_) {
    text += line;
    text += '\n';
  }
  return text;
}

}  // namespace nutshell::compaction
