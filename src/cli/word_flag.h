// A flag that has a value of its own when none is given. It is apart from command_line.h, because
// one file uses it.
#pragma once

#include <optional>
#include <string>

#include "cli/command_line.h"

namespace nutshell::cli {

// Adds a flag that stands for `word` without a value: --name, or --name=VALUE.
CommandOption add_word_flag(const CommandLine& command, const std::string& name,
                            std::optional<std::string>& value, const std::string& word,
                            const std::string& help);

}  // namespace nutshell::cli
