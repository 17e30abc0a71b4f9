#include "egress/host_name.h"

#include <algorithm>

namespace nutshell::egress {
namespace {

constexpr std::size_t kMostNameBytes = 253;
constexpr std::size_t kMostLabelBytes = 63;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

bool is_of_label(char letter) {
  return (letter >= 'a' && letter <= 'z') || is_digit(letter) || letter == '-' || letter == '_';
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kMostLabelBytes && label.front() != '-' &&
         label.back() != '-' && std::all_of(label.begin(), label.end(), is_of_label);
}

// No top-level domain is a number, so such a name is an address in some program's eyes.
bool is_number(std::string_view label) {
  return is_digit(label.front()) &&
         (std::all_of(label.begin(), label.end(), is_digit) || label.starts_with("0x"));
}

}  // namespace

std::optional<std::string> canonical_name(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty() || text.size() > kMostNameBytes) return std::nullopt;
  std::string name(text);
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  std::string_view left = name;
  for (;;) {
    const std::size_t dot = left.find('.');
    const std::string_view label = left.substr(0, dot);
    if (!is_label(label)) return std::nullopt;
    if (dot == std::string_view::npos) {
      if (is_number(label)) return std::nullopt;
      return name;
    }
    left.remove_prefix(dot + 1);
  }
}

bool is_below(std::string_view name, std::string_view parent) {
  return name.size() > parent.size() + 1 && name.ends_with(parent) &&
         name[name.size() - parent.size() - 1] == '.';
}

}  // namespace nutshell::egress
