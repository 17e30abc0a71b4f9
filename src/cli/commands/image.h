// The command `nutshell image`.
#pragma once

#include "cli/command.h"

namespace nutshell::cli {

void add_image(const CommandLine& app, Program& program);

}  // namespace nutshell::cli
