#include "runtime/folded_name.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace nutshell {
namespace {

struct CodeRange {
  std::uint32_t first;
  std::uint32_t last;
};

// Unicode's Default_Ignorable_Code_Point: HFS+, APFS and ext4 with casefold compare names without
// these.
constexpr std::array<CodeRange, 17> kIgnored = {{{0x00ad, 0x00ad},
                                                 {0x034f, 0x034f},
                                                 {0x061c, 0x061c},
                                                 {0x115f, 0x1160},
                                                 {0x17b4, 0x17b5},
                                                 {0x180b, 0x180f},
                                                 {0x200b, 0x200f},
                                                 {0x202a, 0x202e},
                                                 {0x2060, 0x206f},
                                                 {0x3164, 0x3164},
                                                 {0xfe00, 0xfe0f},
                                                 {0xfeff, 0xfeff},
                                                 {0xffa0, 0xffa0},
                                                 {0xfff0, 0xfff8},
                                                 {0x1bca0, 0x1bca3},
                                                 {0x1d173, 0x1d17a},
                                                 {0xe0000, 0xe0fff}}};

bool is_ignored(std::uint32_t code) {
  return std::any_of(kIgnored.begin(), kIgnored.end(), [code](const CodeRange& range) {
    return code >= range.first && code <= range.last;
  });
}

struct Letter {
  std::uint32_t code = 0;
  std::size_t bytes = 1;  // invalid UTF-8 is taken byte by byte
};

Letter letter_at(std::string_view text) {
  const std::size_t size = utf8_length(text);
  if (size == 0) return {};
  return {utf8_character(text.substr(0, size)), size};
}

// Non-ASCII letters that case folding turns into ASCII letters.
constexpr std::uint32_t kKelvinSign = 0x212a;
constexpr std::uint32_t kLongS = 0x017f;

}  // namespace

std::string fold_name(std::string_view name) {
  std::string folded;
  folded.reserve(name.size());
  while (!name.empty()) {
    const Letter letter = letter_at(name);
    if (letter.code >= 'A' && letter.code <= 'Z') {
      folded += static_cast<char>(letter.code - 'A' + 'a');
    } else if (letter.code == kKelvinSign) {
      folded += 'k';
    } else if (letter.code == kLongS) {
      folded += 's';
    } else if (letter.bytes == 1 || !is_ignored(letter.code)) {
      folded += name.substr(0, letter.bytes);
    }
    name.remove_prefix(letter.bytes);
  }
  folded.resize(std::min(folded.find(':'), folded.size()));
  while (!folded.empty() && (folded.back() == ' ' || folded.back() == '.'))
    folded.pop_back();
  return folded;
}

bool is_git_name(std::string_view folded) {
  if (folded == ".git") return true;
  constexpr std::string_view kShort = "git~";
  if (!folded.starts_with(kShort) || folded.size() == kShort.size()) return false;
  folded.remove_prefix(kShort.size());
  return std::all_of(folded.begin(), folded.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> fold_path(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of("/\\"), path.size());
    if (end > 0) parts.push_back(fold_name(path.substr(0, end)));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

}  // namespace nutshell
