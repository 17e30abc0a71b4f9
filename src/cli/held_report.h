// How the command line tells which files are held back because the host would run or trust them,
// and which ones can be run now.
#pragma once

#include <string>
#include <vector>

#include "runtime/held_changes.h"

namespace nutshell::cli {

// How the user takes such files: `apply` has --path, `cp` takes what is named.
enum class TakenBy { Path, Name };

// To standard error; nothing if nothing is held back.
void report_held(const std::vector<JudgedChange>& held, TakenBy taken_by);
// The lines of that, for other places.
std::string describe_held(const std::vector<JudgedChange>& held, TakenBy taken_by);

// " (new executable)", " (became executable)", or nothing.
std::string executable_mark(const wire::FileChange& change);

}  // namespace nutshell::cli
