// Reads this process's environment, which no code of ours changes; so it may be read from any
// thread.
#pragma once

#include <filesystem>
#include <string>

namespace nutshell {

// Returns the value of the variable; empty if it is not set.
std::string environment_variable(const char* name);

// Returns the absolute path that the variable holds; empty if it holds none.
std::filesystem::path environment_path(const char* name);

}  // namespace nutshell
