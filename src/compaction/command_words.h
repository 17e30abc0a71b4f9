// Shell text to the words that say which program's output this is. Nothing is run or expanded: what
// a shell would replace stays as written.
#pragma once

#include <string_view>

#include "compaction/parser.h"

namespace nutshell::compaction {

CommandWords command_words(std::string_view shell_text);

}  // namespace nutshell::compaction
