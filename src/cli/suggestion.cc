#include "cli/suggestion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

namespace nutshell::cli {
namespace {

// Levenshtein; the words are short.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = word.size() / 2 + 1;  // anything further is a guess
  for (const std::string& candidate : candidates) {
    const std::size_t far = distance(word, candidate);
    if (far >= least) continue;
    least = far;
    best = candidate;
  }
  return best;
}

std::string unknown_option(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string best = closest(name, names);
  const std::string hint = best.empty() ? "" : fmt::format(": did you mean {}?", best);
  return fmt::format(
      "unknown option '{}'{}\n  'nutshell {} --help' lists them; put a command that begins with a "
      "dash "
      "behind --",
      name, hint, command.get_name());
}

std::string unknown_command(const CLI::App& program, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  const std::string best = closest(word, names);
  if (!best.empty()) return fmt::format("unknown command '{}': did you mean '{}'?", word, best);
  return fmt::format(
      "unknown command '{0}': 'nutshell --help' lists them; to run {0} in a sandbox: "
      "nutshell run -- {0}",
      word);
}

}  // namespace nutshell::cli
