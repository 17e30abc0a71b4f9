#include "compaction/parsers/build_steps.h"

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

// "  CC      drivers/a.o", as the kernel's and libtool's quiet rules print it.
bool is_quiet_rule(std::string_view line) {
  if (!line.starts_with("  ") || line.starts_with("     ")) return false;
  auto rest = line;
  const auto word = take_word(rest);
  return is_upper_word(word) && !rest.empty() && !contains(rest, ": ") && word != "FAIL" &&
         word != "ERROR" && word != "WARNING" && word != "FAILED";
}

bool is_cmake_chatter(std::string_view line) {
  return line.starts_with("-- ") && !line.ends_with("errors occurred!");
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
  if (!contains(line, " -") && !contains(line, " cr")) return false;
  auto rest = line;
  auto program = take_word(rest);
  if (program == "cd") {  // "cd /src/build && /usr/bin/c++ …", as cmake's makefiles echo it
    if (!take_until(rest, "&& ")) return false;
    program = take_word(rest);
  }
  const bool is_wrapper = program == "ccache" || program.ends_with("/ccache") || program == ":";
  if (is_wrapper) program = take_word(rest);
  if (program == "libtool:" || program.ends_with("/libtool")) return true;
  if (program.ends_with(':') || !is_compiler_program(program)) return false;
  return contains(rest, "-c ") || contains(rest, "-o ") || rest.starts_with('-') ||
         contains(rest, " -l") || program.ends_with("ar") || program.ends_with("ranlib");
}

std::string_view build_chatter(std::string_view line) {
  if (line.empty()) return {};
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
