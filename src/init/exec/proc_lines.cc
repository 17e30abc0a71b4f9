#include "init/exec/proc_lines.h"

#include <algorithm>
#include <charconv>

namespace nutshell::init {

std::string_view word_at(std::string_view line, std::size_t place) {
  for (;; --place) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const std::size_t size = std::min(line.find_first_of(" \t"), line.size());
    if (place == 0 || line.empty()) return line.substr(0, size);
    line.remove_prefix(size);
  }
}

std::uint64_t number_of(std::string_view text, int base) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

std::uint64_t number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  return number_of(word_at(text.substr(at + key.size()), 0));
}

}  // namespace nutshell::init
