// What must stand in a text for a regular expression to have a chance.
#pragma once

#include <re2/re2.h>

#include <string>
#include <vector>

namespace nutshell::init::search {

// One of these, in whatever case, stands in every text that matches; none: nothing is known.
std::vector<std::string> required_literals(const std::string& pattern, const RE2::Options& options);

}  // namespace nutshell::init::search
