#include "base/process_start.h"

#include <fmt/format.h>

#include <charconv>

#include "base/file.h"

namespace nutshell {

std::optional<std::uint64_t> start_of_process(std::uint32_t process) {
  const auto text = read_file(fmt::format("/proc/{}/stat", process));
  if (!text) return std::nullopt;
  // The name, in parentheses, may hold anything; the state is the first field behind it.
  std::size_t at = text->rfind(')');
  if (at == std::string::npos || at + 2 >= text->size()) return std::nullopt;
  const char state = (*text)[at + 2];
  if (state == 'Z' || state == 'X') return std::nullopt;
  constexpr int kFieldsBefore = 20;
  for (int field = 0; field < kFieldsBefore && at != std::string::npos; ++field)
    at = text->find(' ', at + 1);
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t ticks = 0;
  std::from_chars(text->data() + at + 1, text->data() + text->size(), ticks);
  return ticks;
}

}  // namespace nutshell
