// Reports the end of an exec: an exit status for the shell, a line for people, a JSON object for
// programs.
#pragma once

#include <string>

#include "core/exec.h"
#include "runtime/copy.h"
#include "runtime/runtime.h"
#include "wire/exec_io.h"

namespace nutshell::cli {

int exit_status(const ExecResult& result);
// Prints one line on standard error unless the command simply exited.
void explain_end(const ExecResult& result);
void print_json(const ExecResult& result, const wire::CapturedOutput& output);

// Prints to standard error. Makes the text safe for a terminal: part of it may come from a
// sandbox.
void print_error(const std::string& message);

// Names the backends that did not answer, whose sandboxes are not in the list.
void warn_of_unanswered(const Runtime::Listing& listing);

// Prints a line for each FIFO, socket or device that was not copied.
void report_skipped(const CopyReport& report);

}  // namespace nutshell::cli
