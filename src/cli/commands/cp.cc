#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"

namespace nutshell::cli {

void add_copy(CLI::App& app, Program& program) {
  (void)app;
  (void)program;
}

}  // namespace nutshell::cli
