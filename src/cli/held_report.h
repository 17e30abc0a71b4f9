// Prints which files are held back because the host would run or trust them, and marks files that
// became executable.
#pragma once

#include <string>
#include <vector>

#include "runtime/held_changes.h"

namespace nutshell::cli {

// How a user takes such files anyway: with --path of `apply`, or by their own name with `cp`.
enum class TakenBy { Path, Name };

// Prints to standard error, if anything is held back.
void report_held(const std::vector<JudgedChange>& held, TakenBy taken_by);
// The text of report_held().
std::string describe_held(const std::vector<JudgedChange>& held, TakenBy taken_by);

// A for added, M for modified, D for removed.
char letter_of(const wire::FileChange& change);
// " (new executable)", " (became executable)", or empty.
std::string executable_mark(const wire::FileChange& change);

}  // namespace nutshell::cli
