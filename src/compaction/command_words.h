// Shell text to the words that say which program's output this is. Nothing is run or expanded: what
// a shell would replace stays as written.
#pragma once

#include <string_view>

#include "compaction/parser.h"

namespace nutshell::compaction {

CommandWords command_words(std::string_view shell_text);

// `docker logs x`, `kubectl -n a logs b`, `journalctl`: what it prints is a log, whatever its lines
// look like.
bool reads_log(const CommandWords& command);

}  // namespace nutshell::compaction
