// Finds literals that a text must contain to match a regular expression.
#pragma once

#include <re2/re2.h>

#include <string>
#include <vector>

namespace nutshell::init::search {

// Every text that matches contains one of these, in any letter case; empty if nothing is known.
std::vector<std::string> required_literals(const std::string& pattern, const RE2::Options& options);

}  // namespace nutshell::init::search
