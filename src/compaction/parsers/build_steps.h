// Recognises the lines by which make, ninja and cmake report progress. They carry no fact but their
// number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nutshell::compaction {

// The parts of "[3/40] Building x"; in "[ 12%] Building x", `total` is 0.
struct BuildStep {
  std::uint64_t number = 0;
  std::uint64_t total = 0;
  std::string_view text;
};

std::optional<BuildStep> build_step(std::string_view line);
// Returns the text after the program in "make[2]: Entering directory 'x'".
std::optional<std::string_view> make_message(std::string_view line);
// Returns whether a line is a call of a compiler, linker or archiver, echoed by make or ninja -v.
bool is_command_echo(std::string_view line);

// "-- Looking for pthread_create - not found"
bool is_failed_check(std::string_view line);

// Returns the word under which such a line is counted; "" for any other line.
std::string_view build_chatter(std::string_view line);

}  // namespace nutshell::compaction
