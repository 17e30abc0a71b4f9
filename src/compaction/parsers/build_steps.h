// Lines by which make, ninja, cmake and their like say that work goes on. They carry no fact but
// their number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nutshell::compaction {

// The part of a "[3/40] Building x" line; also of "[ 12%] Building x", where `total` is 0.
struct BuildStep {
  std::uint64_t number = 0;
  std::uint64_t total = 0;
  std::string_view text;
};

std::optional<BuildStep> build_step(std::string_view line);
// "make[2]: Entering directory 'x'": the text behind the program, or nothing.
std::optional<std::string_view> make_message(std::string_view line);
// A compiler, linker or archiver as it was called, echoed by make or ninja -v.
bool is_command_echo(std::string_view line);

// What these lines are to be counted as, or empty: not such a line.
std::string_view build_chatter(std::string_view line);

}  // namespace nutshell::compaction
