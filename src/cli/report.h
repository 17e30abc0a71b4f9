// How the end of an exec is told: a status for the shell, a line for people, an object for
// programs.
#pragma once

#include <string>

#include "core/exec.h"
#include "runtime/copy.h"
#include "runtime/runtime.h"
#include "wire/exec_io.h"

namespace nutshell::cli {

int exit_status(const ExecResult& result);
// One line on standard error for every end that is not the command's own doing.
void explain_end(const ExecResult& result);
void print_json(const ExecResult& result, const wire::CapturedOutput& output);

// To standard error, one line or a few, safe for a terminal: part of the text may come from a
// sandbox.
void print_error(const std::string& message);

// Names the backends that did not answer, whose sandboxes are not in the list.
void warn_of_unanswered(const Runtime::Listing& listing);

// A line for each thing that cannot be copied.
void report_skipped(const CopyReport& report);

}  // namespace nutshell::cli
