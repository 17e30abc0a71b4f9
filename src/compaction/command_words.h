// Splits shell text into the words of the program whose output this is. Runs and expands nothing:
// variables and globs stay as written.
#pragma once

#include <string_view>
#include <vector>

#include "compaction/parser.h"

namespace nutshell::compaction {

// Returns the last command, which most likely printed the output.
CommandWords command_words(std::string_view shell_text);

// Returns every command of a list whose output is shown: not `cd`, and not one that feeds a pipe.
std::vector<CommandWords> listed_commands(std::string_view shell_text);

// Returns whether the command prints a log, as `docker logs x`, `kubectl -n a logs b` and
// `journalctl` do.
bool reads_log(const CommandWords& command);

}  // namespace nutshell::compaction
