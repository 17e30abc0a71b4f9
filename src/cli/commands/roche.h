// The command of Roche, for programs written for it.
#pragma once

#include "cli/command.h"

namespace nutshell::cli {

void add_roche(const CommandLine& app, Program& program);

}  // namespace nutshell::cli
