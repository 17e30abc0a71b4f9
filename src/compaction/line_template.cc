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

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15ULL;
}

}  // namespace

std::uint64_t template_of(std::string_view line) {
  static constexpr auto kClasses = make_classes();
  std::uint64_t hash = 0x2545f4914f6cdd1dULL;
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
    if (at > start) hash = seen == kDigit ? mix(hash, '#') : word;
    if (at < line.size()) hash = mix(hash, static_cast<unsigned char>(line[at++]));
  }
  return hash;
}

std::string_view without_time(std::string_view line) {
  const auto end = line.find_first_not_of("0123456789-:.,/TZ+[]() \t");
  return end == std::string_view::npos ? line : line.substr(end);
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
  }
  constexpr std::array<std::string_view, 8> kLevels = {"INFO",  "DEBUG", "WARN",   "ERROR",
                                                       "TRACE", "FATAL", "level=", "time="};
  const auto word = start.starts_with('[') ? start.substr(1) : start;
  return std::any_of(kLevels.begin(), kLevels.end(),
                     [&](std::string_view level) { return word.starts_with(level); });
}

}  // namespace nutshell::compaction
