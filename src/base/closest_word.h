// What somebody probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

// The candidate that is closest, if any is close; else empty.
std::string closest_word(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace nutshell
