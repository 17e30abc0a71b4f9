#include "compaction/parsers/build_steps.h"

#include <algorithm>
#include <array>

#include "compaction/parsers/gcc_diagnostics.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_upper_word(std::string_view word) {
  if (word.size() < 2 || word.size() > 12) return false;
  for (const char character : word) {
    const bool is_fine = (character >= 'A' && character <= 'Z') || is_digit(character) ||
                         character == '[' || character == ']' || character == '_';
    if (!is_fine) return false;
  }
  return true;
}

// "  CC      drivers/a.o", as the kernel's and libtool's quiet rules print it: a file, and no word
// of a test's result.
bool is_quiet_rule(std::string_view line) {
  if (!line.starts_with("  ") || line.starts_with("     ")) return false;
  auto rest = line;
  auto word = take_word(rest);
  constexpr std::array<std::string_view, 8> kResults = {"FAIL", "ERROR", "WARNING", "FAILED",
                                                        "PASS", "SKIP",  "XFAIL",   "XPASS"};
  const bool is_result = std::ranges::find(kResults, word) != kResults.end();
  if (rest.starts_with("[M] ")) rest.remove_prefix(4);
  return is_upper_word(word) && !is_result && !rest.empty() && !contains(rest, " ") &&
         rest.find_first_of("./") != std::string_view::npos;
}

// A check that succeeded or is about to run. What was found, and what the project itself says with
// message(STATUS), has no such form.
bool is_cmake_chatter(std::string_view line) {
  if (!take_prefix(line, "-- ")) return false;
  constexpr std::array<std::string_view, 10> kStarts = {
      "Detecting ",       "Check for working ",
      "Configuring done", "Generating done",
      "Performing Test ", "Looking for ",
      "Check if ",        "Check size of ",
      "Checking ",        "Build files have been written to:"};
  return std::ranges::any_of(kStarts, [&](auto start) { return line.starts_with(start); });
}

bool is_make_chatter(std::string_view message) {
  return message.starts_with("Entering directory") || message.starts_with("Leaving directory");
}

}  // namespace

std::optional<BuildStep> build_step(std::string_view line) {
  if (!take_prefix(line, "[")) return std::nullopt;
  line = trim_left(line);
  const auto number = take_number(line);
  if (!number) return std::nullopt;
  BuildStep step;
  step.number = *number;
  if (!take_prefix(line, "%")) {
    if (!take_prefix(line, "/")) return std::nullopt;
    const auto total = take_number(line);
    if (!total) return std::nullopt;
    step.total = *total;
  }
  if (!take_prefix(line, "]")) return std::nullopt;
  step.text = trim_left(line);
  return step;
}

std::optional<std::string_view> make_message(std::string_view line) {
  if (!take_prefix(line, "make") && !take_prefix(line, "gmake")) return std::nullopt;
  if (take_prefix(line, "[") && (!take_number(line) || !take_prefix(line, "]")))
    return std::nullopt;
  if (!take_prefix(line, ": ")) return std::nullopt;
  return line;
}

bool is_command_echo(std::string_view line) {
  auto rest = line;
  auto program = take_word(rest);
  if (program == "cd") {  // "cd /src/build && /usr/bin/c++ …", as cmake's makefiles echo it
    if (!take_until(rest, "&& ")) return false;
    program = take_word(rest);
  }
  const bool is_wrapper = program == "ccache" || program.ends_with("/ccache") || program == ":";
  if (is_wrapper) program = take_word(rest);
  const bool is_libtool = program == "libtool:" || program.ends_with("/libtool");
  if (!is_libtool && (program.ends_with(':') || !is_compiler_program(program))) return false;
  if (!contains(line, " -") && !contains(line, " cr")) return false;
  return is_libtool || contains(rest, "-c ") || contains(rest, "-o ") || rest.starts_with('-') ||
         contains(rest, " -l") || program.ends_with("ar") || program.ends_with("ranlib");
}

bool is_failed_check(std::string_view line) {
  return is_cmake_chatter(line) && (line.ends_with(" - not found") || line.ends_with(" - Failed") ||
                                    line.ends_with(" - failed") || line.ends_with(" - no"));
}

std::string_view build_chatter(std::string_view line) {
  if (line.empty() || is_failed_check(line)) return {};
  if (const auto step = build_step(line)) return "build steps";
  if (const auto message = make_message(line)) {
    return is_make_chatter(*message) ? "directory changes" : std::string_view{};
  }
  if (is_cmake_chatter(line)) return "configure lines";
  if (is_quiet_rule(line)) return "build steps";
  if (line.starts_with("Scanning dependencies of target ") ||
      line.starts_with("Consolidate compiler generated dependencies of target ") ||
      line.starts_with("ninja: Entering directory"))
    return "build steps";
  if (is_command_echo(line)) return "command lines";
  return {};
}

}  // namespace nutshell::compaction
