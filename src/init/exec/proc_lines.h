// Reads tables of /proc that a command can make as long as it likes.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.h"

namespace nutshell::init {

// Calls `visit` with each line, until it returns false. No more than a part of the file is kept in
// memory. A file that cannot be read has no lines.
template <typename Visit>
void for_each_line(const std::filesystem::path& path, Visit visit) {
  const auto file = open_file(path, O_RDONLY);
  if (!file) return;
  std::string text;
  std::array<char, 16U << 10U> part{};
  for (ssize_t count = 0; (count = ::read(file->get(), part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      if (!visit(std::string_view(text).substr(begin, end - begin))) return;
    text.erase(0, begin);
  }
}

// The word at `place`, counted from zero; empty if the line has fewer words.
std::string_view word_at(std::string_view line, std::size_t place);

// Zero if the text begins with no number.
std::uint64_t number_of(std::string_view text, int base = 10);

// The number after the first `key`; zero if there is none.
std::uint64_t number_after(std::string_view text, std::string_view key);

}  // namespace nutshell::init
