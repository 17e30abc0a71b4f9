// Looks for flags that change what a tool prints, such as `make -n`. With such a flag, lines that
// are chatter otherwise are what the user asked for.
#pragma once

#include <initializer_list>
#include <string_view>

#include "compaction/parser.h"

namespace nutshell::compaction {

// Returns whether the command has one of the flags: "-n" also in "-Bn", "--list" also in
// "--list=all", and "tree" as a whole word.
bool asks_for(const CommandWords& command, std::initializer_list<std::string_view> flags);

}  // namespace nutshell::compaction
