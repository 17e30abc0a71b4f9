#include "cli/suggestion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/closest_word.h"

namespace nutshell::cli {

std::string unknown_option(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  }
  const std::string name = word.substr(0, word.find('='));
  const bool is_of_docker = name == "--pids" || name == "--pids-limit";
  const std::string best = is_of_docker ? "--processes" : closest_word(name, names);
  const std::string hint = best.empty() ? "" : fmt::format(": did you mean {}?", best);
  const bool is_program = command.get_parent() == nullptr;
  return fmt::format(
      "unknown option '{}'{}\n  'nutshell {}--help' lists them; put a command that begins with a "
      "dash behind --",
      name, hint, is_program ? "" : command.get_name() + " ");
}

std::string unknown_command(const CLI::App& program, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  const std::string best = closest_word(word, names);
  if (!best.empty()) return fmt::format("unknown command '{}': did you mean '{}'?", word, best);
  return fmt::format(
      "unknown command '{0}': 'nutshell --help' lists them; to run {0} in a sandbox: "
      "nutshell run -- {0}",
      word);
}

}  // namespace nutshell::cli
