// Which sandbox a command means: by id, by the beginning of one, by name, or without any of these
// the one sandbox whose workspace is this directory.
#pragma once

#include <functional>
#include <string>

#include "cli/command.h"
#include "runtime/saved_changes.h"

namespace nutshell::cli {

// The label that holds the name of a sandbox.
inline constexpr const char* kNameLabel = "name";

// Help of the word that names a sandbox.
inline constexpr const char* kSandboxHelp =
    "The sandbox: id or name; without it, the one sandbox of this directory";

// Refuses a name that could be an id, or that another sandbox has.
Result<> check_new_name(Program& program, const std::string& name);

// Returns `given` if it may be an id; else the id of the sandbox that is meant.
Result<std::string> chosen_sandbox(Program& program, const std::string& given);

// Calls `step` with the sandbox that is meant. If it has ended, with one that has its saved changes
// and ends with the step; a note on standard error says so.
Result<int> with_sandbox(Program& program, const std::string& given, const SavedStep& step);

// Whether what ended sandboxes saved is on this machine, for this user.
bool has_saved_place(const Program& program);

// "3 min", "2 h", "6 days": how long, for people.
std::string human_time(std::chrono::milliseconds time);

}  // namespace nutshell::cli
