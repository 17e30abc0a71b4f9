// Writes values and records as text: what a cut value lacks is counted, a stack trace is
// summarised.
#pragma once

#include <string>
#include <vector>

#include "compaction/records/record_set.h"

namespace nutshell::compaction {

inline constexpr std::size_t kLongestValue = 200;    // bytes shown of a value
inline constexpr std::size_t kLongestMessage = 700;  // and of a message or error

// The column of lines that follow the first line of a record of a log, such as a stack trace.
inline constexpr std::string_view kMoreLines = "(more lines)";

// Cuts at a whole character: "abc…(+12 chars)".
std::string cut_text(std::string_view text, std::size_t most);

// A value on one line: escapes are decoded but for line ends, JSON loses the blanks between its
// parts, a string that could be taken for another type keeps its quotes.
std::string value_text(std::string_view raw, JsonKind kind, std::size_t most = kLongestValue);

// Which cells of a record are written: those whose column is not in `hidden`.
using HiddenColumns = std::vector<bool>;

enum class FieldNames : std::uint8_t {
  Usual,  // time, level and message without their keys
  All,
};

// "WARN disk is full disk=/dev/sda1 free=0", and below it the summary of a stack trace.
std::vector<std::string> record_lines(const RecordSet& set, const Record& record,
                                      const HiddenColumns& hidden,
                                      FieldNames names = FieldNames::Usual);

}  // namespace nutshell::compaction
