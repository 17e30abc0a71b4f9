#include "init/files/attempt.h"

#include <fmt/format.h>
#include <limits.h>

#include <cstdint>
#include <cstring>

namespace nutshell::init {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;

// Bytes of a valid sequence that starts here with a byte beyond ASCII; zero: none does.
std::size_t sequence_at(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  std::size_t size = 0;
  if (first >= 0xC2 && first <= 0xDF) size = 2;
  if ((first & 0xF0U) == 0xE0) size = 3;
  if (first >= 0xF0 && first <= 0xF4) size = 4;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_surrogate = first == 0xED && second > 0x9F;
  const bool is_beyond = first == 0xF4 && second > 0x8F;
  return is_overlong || is_surrogate || is_beyond ? 0 : size;
}

std::string_view code_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::NotFound:
      return "no_such_file";
    case ErrorCode::PermissionDenied:
      return "denied";
    case ErrorCode::InvalidArgument:
      return "bad_argument";
    case ErrorCode::ResourceExhausted:
      return "unavailable";
    default:
      return "internal";
  }
}

std::string next_for(ErrorCode code) {
  if (code == ErrorCode::ResourceExhausted) return "Free some space, or raise the disk limit.";
  return {};
}

bool is_control(char letter) {
  const auto value = static_cast<unsigned char>(letter);
  return value < 0x20 || value == 0x7F;
}

}  // namespace

Refusal refuse(std::string code, std::string what, std::string why, std::string next) {
  return Refusal(wire::Refused{std::move(code), std::move(what), std::move(why), std::move(next)});
}

Refusal refuse(const Error& error, std::string_view path) {
  return refuse(std::string(code_for(error.code)),
                fmt::format("{}: {}.", printable(path), printable(error.message)), {},
                next_for(error.code));
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    std::uint64_t word = 0;
    while (text.size() >= sizeof word) {
      std::memcpy(&word, text.data(), sizeof word);
      if ((word & kHighBits) != 0) break;
      text.remove_prefix(sizeof word);
    }
    if (text.empty()) return true;
    const bool is_ascii = (static_cast<unsigned char>(text.front()) & 0x80U) == 0;
    const std::size_t size = is_ascii ? 1 : sequence_at(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 300;
  std::string shown;
  const bool is_valid = is_utf8(text);
  for (const char letter : text.substr(0, kMost)) {
    const bool is_odd = is_control(letter) || (!is_valid && (letter & '\x80') != 0);
    if (is_odd) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(letter));
    } else {
      shown += letter;
    }
  }
  if (text.size() <= kMost) return shown;
  while (!is_utf8(shown))  // cut inside a letter
    shown.pop_back();
  return shown + "…";
}

Attempt<> check_path(std::string_view path) {
  if (path.empty()) return refuse("bad_argument", "path is empty.");
  if (path.size() >= PATH_MAX) {
    return refuse("bad_argument",
                  fmt::format("path has {} bytes: {}.", path.size(), printable(path)),
                  fmt::format("At most {} are possible.", PATH_MAX - 1));
  }
  bool is_odd = !is_utf8(path);
  for (const char letter : path)
    is_odd = is_odd || is_control(letter);
  if (!is_odd) return {};
  return refuse("bad_argument", fmt::format("path is not plain text: {}.", printable(path)),
                "It has a control character, or is not UTF-8.",
                "Use bash for a file with such a name.");
}

}  // namespace nutshell::init
