// `nutshell forward`; see cli/command.h.
#pragma once

#include "cli/command.h"

namespace nutshell::cli {

void add_forward(const CommandLine& app, Program& program);

}  // namespace nutshell::cli
