#include "cli/word_flag.h"

#include <CLI/CLI.hpp>

namespace nutshell::cli {

CommandOption add_word_flag(const CommandLine& command, const std::string& name,
                            std::optional<std::string>& value, const std::string& word,
                            const std::string& help) {
  if (!command.builds_flags()) return CommandOption(nullptr);
  return CommandOption(command.parser().add_flag(name + "{" + word + "}", value, help));
}

}  // namespace nutshell::cli
