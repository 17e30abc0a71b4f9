#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "cli/command.h"
#include "cli/print.h"

namespace nutshell::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string options_of(const CLI::App& command) {
  std::string words;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      words += (words.empty() ? "--" : " --") + name;
  }
  return words;
}

// The words that an option takes, separated by spaces: its help shows them as {native,docker}.
std::string values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  if (begin == std::string::npos || !type.ends_with('}')) return {};
  std::string values = type.substr(begin + 1, type.size() - begin - 2);
  std::replace(values.begin(), values.end(), ',', ' ');
  return values;
}

// All options with such words, also those of inner commands, by name.
using Values = std::map<std::string, std::string>;
void collect_values(const CLI::App& command, Values& values) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string words = values_of(*option);
    for (const std::string& name : option->get_lnames())
      if (!words.empty()) values[name] = words;
  }
  for (const CLI::App* inner : commands_of(command))
    collect_values(*inner, values);
}

constexpr const char* kImages = "$(nutshell image list -q 2>/dev/null | sed 's/:latest$//')";

// Subcommands with their options, such as those of `audit` and `image`.
std::string inner_commands(const CLI::App& command) {
  std::string words;
  for (const CLI::App* inner : commands_of(command))
    words += fmt::format("{} {}", inner->get_name(), options_of(*inner)) + " ";
  return words;
}

bool takes_id(const std::string& command) {
  for (const char* name : {"exec", "info", "stats", "destroy", "cp", "pause", "resume", "diff",
                           "apply", "discard", "checkpoint", "rollback", "fork", "history"}) {
    if (command == name) return true;
  }
  return false;
}

// A word for fish, where a quote inside quotes needs a backslash.
std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "'";
}

std::string bash_script(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names += (names.empty() ? "" : " ") + command->get_name();
    std::string more = takes_id(command->get_name()) ? " $(nutshell list -q 2>/dev/null)" : "";
    if (command->get_name() == "image") more = fmt::format(" {}", kImages);
    cases += fmt::format("    {}) words=\"{}{} {}\" ;;\n", command->get_name(),
                         inner_commands(*command), options_of(*command), more);
  }
  std::string by_option;
  Values values;
  collect_values(app, values);
  for (const auto& [name, words] : values)
    by_option += fmt::format("    --{}) COMPREPLY=($(compgen -W \"{}\" -- \"$2\")); return ;;\n",
                             name, words);
  return fmt::format(
      "_nutshell() {{\n  local words i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    if [ \"${{COMP_WORDS[i]}}\" = -- ]; then COMPREPLY=($(compgen -c -- \"$2\")); return; "
      "fi\n  done\n"
      "  if [ \"$3\" = --image ]; then COMPREPLY=($(compgen -f -W \"{}\" -- \"$2\")); return; fi\n"
      "  case \"$3\" in\n{}  esac\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n{}    *) words=\"{}\" ;;\n  esac\n"
      "  [ \"$COMP_CWORD\" = 1 ] && words=\"{}\"\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$2\"))\n}}\ncomplete -o default -F _nutshell "
      "nutshell\n",
      kImages, by_option, cases, names, names);
}

std::string zsh_script(const CLI::App& app) {
  return "#compdef nutshell\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(app);
}

std::string fish_script(const CLI::App& app) {
  std::string script = "complete -c nutshell -f\n";
  script += "complete -c nutshell -l image -xa '(nutshell image list -q)'\n";
  for (const CLI::App* command : commands_of(app)) {
    const std::string& name = command->get_name();
    script += fmt::format("complete -c nutshell -n __fish_use_subcommand -a {} -d {}\n", name,
                          fish_quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& word : option->get_lnames()) {
        const std::string values = values_of(*option);
        script += fmt::format("complete -c nutshell -n '__fish_seen_subcommand_from {}' -l {}{}\n",
                              name, word, values.empty() ? "" : fmt::format(" -xa '{}'", values));
      }
    }
    for (const CLI::App* inner : commands_of(*command)) {
      script +=
          fmt::format("complete -c nutshell -n '__fish_seen_subcommand_from {}' -a {} -d {}\n",
                      name, inner->get_name(), fish_quoted(inner->get_description()));
    }
    if (takes_id(name)) {
      script += fmt::format(
          "complete -c nutshell -n '__fish_seen_subcommand_from {}' -a '(nutshell list -q)'\n",
          name);
    }
  }
  return script;
}

}  // namespace

void add_completion(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("completion", "Print a completion script for your shell");
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish").required();
  command.footer(
      "Examples:\n  source <(nutshell completion bash)\n  nutshell completion fish | source");
  command.callback([shell, app, &program] {
    program.chosen = [shell, app]() -> Result<int> {
      if (*shell != "bash" && *shell != "zsh" && *shell != "fish") {
        return failure(ErrorCode::InvalidArgument,
                       fmt::format("no completion for '{}': there are bash, zsh, fish", *shell));
      }
      const std::string script = *shell == "bash"  ? bash_script(app.parser())
                                 : *shell == "zsh" ? zsh_script(app.parser())
                                                   : fish_script(app.parser());
      print_bytes(script);
      return 0;
    };
  });
}

}  // namespace nutshell::cli
