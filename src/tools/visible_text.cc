#include "tools/visible_text.h"

#include <fmt/format.h>

#include <array>

namespace nutshell {
std::string visible_name(std::string_view name) {
  std::string safe = terminal_line(name);
  const bool is_quoted = name.empty() || name.front() == ' ' || name.back() == ' ' ||
                         safe.size() != name.size() || name.find('"') != std::string_view::npos;
  if (!is_quoted) return safe;
  std::string text = "\"";
  for (const char letter : safe) {
    if (letter == '"') text += '\\';
    text += letter;
  }
  return text + "\"";
}

std::string short_size(std::uint64_t bytes) {
  constexpr std::array<char, 5> kUnits = {'k', 'M', 'G', 'T', 'P'};
  if (bytes < 1000) return std::to_string(bytes);
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (size /= 1024; size >= 1000 && unit + 1 < kUnits.size(); size /= 1024)
    ++unit;
  return size < 9.95 ? fmt::format("{:.1f}{}", size, kUnits[unit])
                     : fmt::format("{:.0f}{}", size, kUnits[unit]);
}

}  // namespace nutshell
