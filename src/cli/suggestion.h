// What somebody probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the parser's name
class App;
}

namespace nutshell::cli {

// The candidate that is closest, if any is close; else empty.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

// "unknown option '--memroy': did you mean --memory? …"
std::string unknown_option(const CLI::App& command, const std::string& word);
std::string unknown_command(const CLI::App& program, const std::string& word);

}  // namespace nutshell::cli
