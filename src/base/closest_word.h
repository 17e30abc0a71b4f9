// Suggests what a misspelt word was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

// Returns the candidate that is closest to `word`; empty if none is close.
std::string closest_word(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace nutshell
