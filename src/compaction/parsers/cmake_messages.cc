#include "compaction/parsers/cmake_messages.h"

#include <string>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "CMake Error at CMakeLists.txt:3 (find_package):", "CMake Warning (dev) in CMakeLists.txt:",
// "CMake Error: text" and "CMake Error in CMakeLists.txt:"
Diagnostic headed(std::string_view line) {
  Diagnostic diagnostic;
  diagnostic.severity = contains(line.substr(0, 20), "Error") ? Severity::Error : Severity::Warning;
  for (const std::string_view kind : {"Deprecation", "(dev)"}) {
    if (contains(line.substr(0, 32), kind)) diagnostic.rule = kind == "(dev)" ? "dev" : kind;
  }
  for (const std::string_view link : {" at ", " in "}) {
    auto rest = line;
    if (!line.ends_with(':') || !take_until(rest, link)) continue;
    rest.remove_suffix(1);
    const auto command = rest.find(" (");
    const auto place = rest.substr(0, command);
    if (const auto located = split_location(place))
      diagnostic.where = located->where;
    else
      diagnostic.where.file = place;
    // "(message)" only says that the text is the project's own.
    if (command != std::string_view::npos && rest.ends_with(')') &&
        rest.substr(command) != " (message)")
      diagnostic.detail.emplace_back(rest.substr(command + 1));
    return diagnostic;
  }
  if (take_until(line, ": ")) diagnostic.message = line;
  return diagnostic;
}

}  // namespace

bool is_cmake_message(std::string_view line) {
  return line.starts_with("CMake Error") || line.starts_with("CMake Warning") ||
         line.starts_with("CMake Deprecation ");
}

// The call stack names the user's own lines; it is part of what is wrong.
bool take_cmake_message(LineCursor& cursor, Ledger& ledger) {
  if (!is_cmake_message(cursor.line())) return false;
  auto diagnostic = headed(cursor.line());
  cursor.advance();
  const bool has_body = diagnostic.message.empty();
  while (!cursor.done()) {
    const auto line = cursor.line();
    const bool is_stack = line.starts_with("Call Stack (");
    const bool goes_on = is_blank(line) && cursor.peek(1).starts_with("  ");
    if (!line.starts_with("  ") && !is_stack && !goes_on) break;
    const auto text = std::string(trim(line));
    cursor.advance();
    if (text.empty()) continue;
    if (has_body && diagnostic.message.empty())
      diagnostic.message = text;
    else
      diagnostic.detail.push_back(text);
  }
  (void)ledger.add(std::move(diagnostic));  // repeated or new, it is accounted for
  return true;
}

}  // namespace nutshell::compaction
