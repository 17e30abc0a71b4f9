#include "init/files/attempt.h"

#include <fmt/format.h>
#include <limits.h>

namespace nutshell::init {
namespace {

std::string next_for(ErrorCode code) {
  if (code == ErrorCode::ResourceExhausted) return "Free some space, or raise the disk limit.";
  return {};
}

bool is_control(char letter) {
  const auto value = static_cast<unsigned char>(letter);
  return value < 0x20 || value == 0x7F;
}

}  // namespace

Refusal refuse(ErrorCode code, std::string what, std::string why, std::string next) {
  return Refusal(wire::Refused{code, std::move(what), std::move(why), std::move(next)});
}

Refusal refuse(const Error& error, std::string_view path) {
  return refuse(error.code, fmt::format("{}: {}.", printable(path), printable(error.message)), {},
                next_for(error.code));
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
  while (!is_utf8(shown))  // was cut inside a character
    shown.pop_back();
  return shown + "…";
}

Attempt<> check_path(std::string_view path) {
  if (path.empty()) return refuse(ErrorCode::InvalidArgument, "path is empty.");
  if (path.size() >= PATH_MAX) {
    return refuse(ErrorCode::InvalidArgument,
                  fmt::format("path `{}` has {} bytes.", printable(path), path.size()),
                  fmt::format("At most {} are possible.", PATH_MAX - 1));
  }
  bool is_odd = !is_utf8(path);
  for (const char letter : path)
    is_odd = is_odd || is_control(letter);
  if (!is_odd) return {};
  return refuse(
      ErrorCode::InvalidArgument, fmt::format("path `{}` is not plain text.", printable(path)),
      "It has a control character, or is not UTF-8.", "Use bash for a file with such a name.");
}

}  // namespace nutshell::init
