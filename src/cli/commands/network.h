// `nutshell network`; see cli/command.h.
#pragma once

#include "cli/command.h"

namespace nutshell::cli {

void add_network(const CommandLine& app, Program& program);

}  // namespace nutshell::cli
