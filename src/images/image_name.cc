#include "images/image_name.h"

#include <fmt/format.h>

#include <algorithm>

namespace nutshell::images {
namespace {

constexpr std::size_t kMostNameBytes = 200;  // a file name, with every slash written as three
constexpr std::size_t kMostTagBytes = 128;
constexpr std::size_t kDigestDigits = 64;
constexpr std::string_view kSlash = "%2f";

bool is_letter_or_digit(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9');
}

bool is_word(std::string_view text) {
  return !text.empty() && (is_letter_or_digit(text.front()) || text.front() == '_') &&
         std::all_of(text.begin(), text.end(), [](char letter) {
           return is_letter_or_digit(letter) || letter == '.' || letter == '_' || letter == '-';
         });
}

// Whether this is the name of a registry, perhaps with a port.
bool is_registry(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return is_word(text);
  const std::string_view port = text.substr(colon + 1);
  return is_word(text.substr(0, colon)) && !port.empty() && port.size() <= 5 &&
         std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_repository(std::string_view text) {
  std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    if (!is_registry(text.substr(0, slash))) return false;
    text.remove_prefix(slash + 1);
    slash = text.find('/');
  }
  for (; slash != std::string_view::npos; slash = text.find('/')) {
    if (!is_word(text.substr(0, slash))) return false;
    text.remove_prefix(slash + 1);
  }
  return is_word(text);
}

}  // namespace

Result<std::string> whole_name(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  const std::size_t colon = text.find(':', slash == std::string_view::npos ? 0 : slash);
  const std::string_view repository = text.substr(0, colon);
  const std::string_view tag =
      colon == std::string_view::npos ? std::string_view("latest") : text.substr(colon + 1);
  const std::size_t slashes = static_cast<std::size_t>(std::count(text.begin(), text.end(), '/'));
  const bool is_sound = text.size() + slashes * 2 <= kMostNameBytes &&
                        tag.size() <= kMostTagBytes && is_word(tag) && is_repository(repository);
  if (is_sound) return fmt::format("{}:{}", repository, tag);
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("'{}' is not a name for an image: NAME[:TAG] of letters, digits, '.', "
                             "'_', '-' and '/'",
                             shown(text)));
}

std::string to_file_name(std::string_view name) {
  std::string file;
  for (const char letter : name) {
    if (letter == '/') {
      file += kSlash;
    } else {
      file += letter;
    }
  }
  return file;
}

std::string from_file_name(std::string_view file) {
  std::string name;
  for (std::size_t at = 0; at < file.size();) {
    const bool is_slash = file.substr(at).starts_with(kSlash);
    name += is_slash ? '/' : file[at];
    at += is_slash ? kSlash.size() : 1;
  }
  return name;
}

bool is_digest(std::string_view text) {
  return text.size() == kDigestDigits && std::all_of(text.begin(), text.end(), [](char letter) {
           return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
         });
}

Result<std::string> parse_digest(std::string_view text) {
  constexpr std::string_view kAlgorithm = "sha256:";
  if (text.starts_with(kAlgorithm) && is_digest(text.substr(kAlgorithm.size())))
    return std::string(text.substr(kAlgorithm.size()));
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("'{}' is not a digest: sha256: and 64 digits", shown(text)));
}

std::string shown(std::string_view text) {
  std::string safe(text.substr(0, 100));
  for (char& letter : safe) {
    if (static_cast<unsigned char>(letter) < ' ' || letter == 0x7f) letter = '?';
  }
  return safe;
}

}  // namespace nutshell::images
