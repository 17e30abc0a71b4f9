#include "compaction/line_template.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// Classes of bytes; the largest class in a run decides what the run is.
constexpr std::uint8_t kOther = 0;
constexpr std::uint8_t kLetter = 1;
constexpr std::uint8_t kDigit = 2;

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (unsigned byte = 0; byte < classes.size(); ++byte) {
    const unsigned small = byte | 0x20U;
    if ((small >= 'a' && small <= 'z') || byte == '_' || byte >= 0x80) classes[byte] = kLetter;
    if (byte >= '0' && byte <= '9') classes[byte] = kDigit;
  }
  return classes;
}

constexpr std::array<bool, 256> make_time_characters() {
  std::array<bool, 256> is_of_time{};
  for (const char character : std::string_view("0123456789-:.,/TZ+[]() \t"))
    is_of_time[static_cast<unsigned char>(character)] = true;
  return is_of_time;
}

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15ULL;
}

bool is_number_byte(char byte) {
  return byte >= '0' && byte <= '9';
}

// The length of a position that begins the line after blanks, "2:9 " or "14:3\t"; 0: there is none.
std::size_t position_length(std::string_view line) {
  auto rest = trim_left(line);
  const std::size_t indent = line.size() - rest.size();
  std::size_t digits = 0;
  while (digits < rest.size() && is_number_byte(rest[digits]))
    ++digits;
  if (digits == 0 || digits == rest.size() || rest[digits] != ':') return 0;  // most lines
  if (!take_number(rest) || !take_prefix(rest, ":") || !take_number(rest)) return 0;
  const bool is_alone = rest.empty() || rest.front() == ' ' || rest.front() == '\t';
  return is_alone ? line.size() - rest.size() - indent : 0;
}

// Whether the digits at `at` are the line in "Main.java:7".
bool follows_file(std::string_view line, std::size_t at) {
  if (at < 3 || line[at - 1] != ':') return false;
  std::size_t start = at - 1;
  while (start > 0 && (static_cast<unsigned char>(line[start - 1]) | 0x20U) >= 'a' &&
         (static_cast<unsigned char>(line[start - 1]) | 0x20U) <= 'z')
    --start;
  return start > 0 && start < at - 1 && line[start - 1] == '.';
}

// Whether the digits from `at` are the status in `"GET / HTTP/1.1" 503 12`.
bool is_http_status(std::string_view line, std::size_t at, std::size_t end) {
  return end - at == 3 && at >= 2 && line[at - 1] == ' ' && line[at - 2] == '"';
}

}  // namespace

std::uint64_t template_of(std::string_view line) {
  static constexpr auto kClasses = make_classes();
  std::uint64_t hash = 0x2545f4914f6cdd1dULL;
  const std::size_t kept = indent_of(line) + position_length(line);  // places are not merged
  std::size_t at = 0;
  while (at < line.size()) {
    std::uint64_t word = hash;
    std::uint8_t seen = kOther;
    const std::size_t start = at;
    for (; at < line.size(); ++at) {
      const std::uint8_t kind = kClasses[static_cast<unsigned char>(line[at])];
      if (kind == kOther) break;
      seen = std::max(seen, kind);
      word = mix(word, static_cast<unsigned char>(line[at]));
    }
    const bool is_number = seen == kDigit && start >= kept && !follows_file(line, start) &&
                           !is_http_status(line, start, at);
    if (at > start) hash = is_number ? mix(hash, '#') : word;
    if (at < line.size()) hash = mix(hash, static_cast<unsigned char>(line[at++]));
  }
  return hash;
}

unsigned http_status(std::string_view line) {
  auto version = line.find("HTTP/");  // rarer than the blank before it
  while (version != std::string_view::npos && (version == 0 || line[version - 1] != ' '))
    version = line.find("HTTP/", version + 1);
  const auto end = version == std::string_view::npos ? version : line.find("\" ", version);
  if (end == std::string_view::npos) return 0;
  auto rest = line.substr(end + 2);
  const auto word = take_word(rest);
  auto digits = word;
  const auto status = take_number(digits);
  return word.size() == 3 && digits.empty() ? static_cast<unsigned>(status.value_or(0)) : 0;
}

std::string_view without_time(std::string_view line) {
  static constexpr auto kIsOfTime = make_time_characters();
  if (position_length(line) > 0) return line;
  std::size_t end = 0;
  while (end < line.size() && kIsOfTime[static_cast<unsigned char>(line[end])])
    ++end;
  return end == line.size() ? line : line.substr(end);
}

bool is_log_line(std::string_view line) {
  constexpr std::size_t kTimeWithin = 40;
  const auto start = line.substr(0, kTimeWithin);
  for (auto at = start.find(':'); at != std::string_view::npos; at = start.find(':', at + 1)) {
    const bool has_time = at >= 2 && at + 5 < start.size() && is_digit(start[at - 2]) &&
                          is_digit(start[at - 1]) && is_digit(start[at + 1]) &&
                          is_digit(start[at + 2]) && start[at + 3] == ':' &&
                          is_digit(start[at + 4]);
    if (has_time) return true;
    const auto half = start.substr(std::min(at + 3, start.size()), 3);  // "10:04AM INF x"
    const bool has_clock = at >= 1 && is_digit(start[at - 1]) && (half == "AM " || half == "PM ");
    if (has_clock) return true;
  }
  constexpr std::array<std::string_view, 8> kLevels = {"INFO",  "DEBUG", "WARN",   "ERROR",
                                                       "TRACE", "FATAL", "level=", "time="};
  const auto word = start.starts_with('[') ? start.substr(1) : start;
  return std::any_of(kLevels.begin(), kLevels.end(),
                     [&](std::string_view level) { return word.starts_with(level); });
}

}  // namespace nutshell::compaction
