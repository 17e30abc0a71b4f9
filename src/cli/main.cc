// nutshell: parses, calls the runtime, prints.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "cli/report.h"
#include "cli/suggestion.h"
#include "init/init.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Start here:
  nutshell run -- echo hello            one command in a sandbox of its own
  nutshell run -it -- bash              a shell in one
  nutshell doctor                       what this machine can enforce
  ID=$(nutshell create)                 a sandbox that stays
  nutshell exec $ID -- python3 job.py
  nutshell cp ./job.py $ID:/workspace/
  nutshell destroy $ID

'nutshell COMMAND --help' shows the options and examples of one command.)";

void add_commands(CLI::App& app, Program& program) {
  add_run(app, program);
  add_create(app, program);
  add_exec(app, program);
  add_list(app, program);
  add_info(app, program);
  add_destroy(app, program);
  add_copy(app, program);
  add_pause(app, program);
  add_resume(app, program);
  add_gc(app, program);
  add_doctor(app, program);
  add_version(app, program);
  add_completion(app, program);
}

// The parser's own messages know nothing of suggestions.
int explain_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const auto extras = command.remaining(false);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || extras.empty()) {
    print_error(fmt::format("{}\n  'nutshell {}{}--help' shows how", error.what(),
                            chosen.empty() ? "" : command.get_name(), chosen.empty() ? "" : " "));
  } else if (extras.front().starts_with("-")) {
    print_error(unknown_option(command, extras.front()));
  } else if (chosen.empty()) {
    print_error(unknown_command(app, extras.front()));
  } else {
    print_error(fmt::format("'{}' is one word too many: 'nutshell {} --help' shows how",
                            extras.front(), command.get_name()));
  }
  return kOurError;
}

int run_chosen(const Program& program) {
  if (!program.chosen) return 0;
  auto status = program.chosen();
  if (status) return *status;
  print_error(status.error().message);
  return kOurError;
}

// The words up to a lone --, last first, as the parser wants them. What comes after is not ours to
// look at.
std::vector<std::string> split_at_dashes(int argc, char** argv, Program& program) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes != words.end()) {
    program.behind_dashes.emplace(std::next(dashes), words.end());
    words.erase(dashes, words.end());
  }
  std::reverse(words.begin(), words.end());
  return words;
}

int run_program(int argc, char** argv) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  Runtime runtime({&init::run_init, self.parent_path()});
  Program program{runtime, std::nullopt, nullptr};
  std::vector<std::string> words = split_at_dashes(argc, argv, program);
  CLI::App app("A shell for AI agents that they cannot crack.", "nutshell");
  app.footer(kExamples);
  app.set_version_flag("--version", std::string("nutshell ") + NUTSHELL_VERSION);
  add_commands(app, program);
  try {
    app.parse(std::move(words));
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& problem) {
    return explain_parse_error(app, problem);
  }
  if (argc == 1) fmt::print("{}", app.help());
  return run_chosen(program);
}

}  // namespace
}  // namespace nutshell::cli

int main(int argc, char** argv) {
  return nutshell::cli::run_program(argc, argv);
}
