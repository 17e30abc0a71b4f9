// Says what a field of a record is for, by its key, and what its value says about how things went.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/json_reader.h"

namespace nutshell::compaction {

enum class FieldRole : std::uint8_t {
  Other,
  Level,     // "level", "severity", "@l"
  Priority,  // syslog's numbers: 3 and less are errors
  LevelNo,   // Python's numbers: 40 and more are errors
  Status,    // "status", "conclusion", "phase"
  Success,   // "ok", "passed": false is an error
  ExitCode,  // a number other than 0 is an error
  Error,     // "error", "exception": a value other than null, false, 0 or "" is an error
  Failures,  // "failed", "errors": a count of at least 1 is an error
  Message,
  Time,
  Stack,
  File,
  Line,
  Column,
  Rule,
};

enum class Grade : std::uint8_t { None, Plain, Warning, Error };

// The role of a key; of a path such as "log.level" or "res[0].statusCode", that of its end.
FieldRole role_of(std::string_view path);

// Grades a value as written, with quotes if it is a string. None if the field does not grade a
// record.
Grade grade_of(FieldRole role, std::string_view raw, JsonKind kind);

// Grades the word of a level ("ERR", "warning", "i") or its number on pino's, Python's or syslog's
// scale.
Grade grade_of_level(std::string_view word);

}  // namespace nutshell::compaction
