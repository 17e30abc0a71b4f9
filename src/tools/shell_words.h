// Splits a text into an argument vector, as a shell does with quotes and backslashes. Expands
// nothing and runs no shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nutshell {

Result<std::vector<std::string>> split_shell_words(std::string_view text);
// The inverse: a text that a shell would split into these words.
std::string join_shell_words(const std::vector<std::string>& words);

}  // namespace nutshell
