// One text to an argument vector, as a shell splits it: quotes and backslashes, and nothing else.
// Nothing is expanded, and no shell is run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nutshell {

Result<std::vector<std::string>> split_shell_words(std::string_view text);
// The other way: one text that a shell would split into these words.
std::string join_shell_words(const std::vector<std::string>& words);

}  // namespace nutshell
