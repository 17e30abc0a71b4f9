// Messages about unknown words, with the word that was probably meant.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the parser's name
class App;
}

namespace nutshell::cli {

// "unknown option '--memroy': did you mean --memory? …"
std::string unknown_option(const CLI::App& command, const std::string& word);
std::string unknown_command(const CLI::App& program, const std::string& word);

}  // namespace nutshell::cli
