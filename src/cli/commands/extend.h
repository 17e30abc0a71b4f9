// The command `nutshell extend`.
#pragma once

#include "cli/command.h"

namespace nutshell::cli {

void add_extend(const CommandLine& app, Program& program);

}  // namespace nutshell::cli
