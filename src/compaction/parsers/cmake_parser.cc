#include "compaction/parsers/cmake_parser.h"

#include "compaction/parsers/cmake_messages.h"
#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_cmake_line(std::string_view line) {
  return is_cmake_message(line) || line.starts_with("-- Configuring ") ||
         line.starts_with("-- Generating done") ||
         line.starts_with("-- Build files have been written to:");
}

bool recognises_cmake(const ParserInput& input) {
  const bool is_configure = input.command.starts_with({"cmake"}) && !input.command.has("--build");
  return is_configure || has_line(input.lines, is_cmake_line);
}

std::optional<Facts> parse_cmake(const ParserInput& input) {
  Ledger ledger;
  for (LineCursor cursor(input.lines); !cursor.done();) {
    const auto line = cursor.line();
    if (is_cmake_line(line) || line.starts_with("-- ")) ledger.recognise();
    const bool is_said = line.starts_with("-- Configuring incomplete") ||
                         line.starts_with("-- Build files have been written to:") ||
                         line.starts_with("See also \"");
    if (is_said) {
      ledger.keep(line);
      cursor.advance();
    } else if (line.starts_with("This warning is for project developers.")) {
      ledger.omit("configure lines");
      cursor.advance();
    } else {
      take_unknown(cursor, ledger);
    }
  }
  ledger.count_diagnostics();
  return ledger.settle("cmake", input);
}

}  // namespace

Parser cmake_parser() {
  return {.name = "cmake", .recognises = recognises_cmake, .parse = parse_cmake};
}

}  // namespace nutshell::compaction
