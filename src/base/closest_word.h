// Suggestions for a misspelt word: "did you mean --memory?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

// Returns the candidate that `word` was probably meant as; empty if none is close.
std::string closest_word(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace nutshell
