// How the end of an exec is told: a status for the shell, a line for people, an object for
// programs.
#pragma once

#include <string>

#include "core/exec.h"
#include "wire/exec_io.h"

namespace nutshell::cli {

int exit_status(const ExecResult& result);
// One line on standard error for every end that is not the command's own doing.
void explain_end(const ExecResult& result);
void print_json(const ExecResult& result, const wire::CapturedOutput& output);

void print_error(const std::string& message);

}  // namespace nutshell::cli
