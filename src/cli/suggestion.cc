#include "cli/suggestion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <span>
#include <string_view>

#include "base/closest_word.h"

namespace nutshell::cli {
namespace {

// Options that people know from docker, and what takes their place here.
struct Hint {
  std::string_view names;  // each followed by a space
  std::string_view hint;
};
constexpr std::array kHints = {
    Hint{"--pids --pids-limit ", "did you mean --processes?"},
    Hint{"-m ", "did you mean --memory?"},
    Hint{"-v --volume --mount ",
         "--workspace DIR shows a directory copy-on-write, --copy SRC[:DST] copies files in, and "
         "--unsafe-mount SRC:DST gives write access to the host's own files"},
    Hint{"--rm ", "leave it out: the sandbox of 'run' always ends with its command"},
    Hint{"-p --publish --expose -P ",
         "leave it out: 'nutshell forward ID PORT' reaches a server in a sandbox of 'nutshell "
         "create' while it runs"},
    Hint{"--network --net --dns --add-host ",
         "a sandbox has no network of its own; name what its commands may reach with --allow "
         "HOST[:PORT], or say --network unsafe-full"},
    Hint{"--env-file ",
         "give each variable with -e NAME=VALUE, or 'env = [\"NAME=VALUE\"]' in the "
         "file of --config"},
    Hint{"-u --user ",
         "leave it out: commands run as the sandbox's own user, who has no rights outside of it"},
    Hint{"--privileged --cap-add --device --security-opt ",
         "leave it out: a sandbox gets no privileges"},
    Hint{"--entrypoint ", "give the program as the command, behind --"},
};

// Commands that people know from docker.
constexpr std::array kCommandHints = {
    Hint{"images ", "image list"},     Hint{"pull ", "image pull NAME"},
    Hint{"rmi ", "image remove NAME"}, Hint{"stop kill ", "destroy ID"},
    Hint{"unpause ", "resume ID"},     Hint{"attach ", "exec -it ID -- sh"},
    Hint{"inspect ", "info ID"},       Hint{"commit ", "checkpoint ID"},
    Hint{"prune system ", "gc"},
};

std::string_view hint_for(std::span<const Hint> hints, const std::string& name) {
  const std::string wanted = name + " ";
  for (const Hint& hint : hints) {
    for (std::size_t at = hint.names.find(wanted); at != std::string_view::npos;
         at = hint.names.find(wanted, at + 1))
      if (at == 0 || hint.names[at - 1] == ' ') return hint.hint;
  }
  return {};
}

}  // namespace

std::string unknown_option(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string_view known = hint_for(kHints, name);
  const std::string best = closest_word(name, names);
  const std::string hint = !known.empty() ? fmt::format(": {}", known)
                           : best.empty() ? ""
                                          : fmt::format(": did you mean {}?", best);
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
  const std::string_view known = hint_for(kCommandHints, word);
  if (!known.empty())
    return fmt::format("unknown command '{}': did you mean 'nutshell {}'?", word, known);
  const std::string best = closest_word(word, names);
  if (!best.empty()) return fmt::format("unknown command '{}': did you mean '{}'?", word, best);
  return fmt::format(
      "unknown command '{0}': 'nutshell --help' lists them; to run {0} in a sandbox: "
      "nutshell run -- {0}",
      word);
}

}  // namespace nutshell::cli
