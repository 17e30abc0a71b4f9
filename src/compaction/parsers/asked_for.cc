#include "compaction/parsers/asked_for.h"

#include <algorithm>

namespace nutshell::compaction {
namespace {

bool is_flag(std::string_view word, std::string_view flag) {
  if (word == flag) return true;
  if (flag.starts_with("--"))
    return word.size() > flag.size() && word.starts_with(flag) && word[flag.size()] == '=';
  const bool is_short = flag.size() == 2 && flag[0] == '-';
  return is_short && word.size() > 2 && word[0] == '-' && word[1] != '-' &&
         word.find('=') == std::string_view::npos &&
         word.find(flag[1], 1) != std::string_view::npos;
}

}  // namespace

bool asks_for(const CommandWords& command, std::initializer_list<std::string_view> flags) {
  return std::ranges::any_of(command.words, [&](const std::string& word) {
    return std::ranges::any_of(flags, [&](std::string_view flag) { return is_flag(word, flag); });
  });
}

}  // namespace nutshell::compaction
