// nutshell: parses, calls the runtime, prints.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "cli/command.h"
#include "cli/commands/extend.h"
#include "cli/commands/forward.h"
#include "cli/commands/image.h"
#include "cli/commands/network.h"
#include "cli/commands/roche.h"
#include "cli/daemon_choice.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/suggestion.h"
#include "init/init.h"

namespace nutshell::cli {
namespace {

constexpr const char* kRoche = "roche";

constexpr const char* kExamples = R"(Start here:
  nutshell run -- echo hello            one command in a sandbox of its own
  nutshell run -it -- bash              a shell in one
  nutshell doctor                       what this machine can enforce
  ID=$(nutshell create)                 a sandbox that stays
  nutshell exec $ID -- python3 job.py
  nutshell cp ./job.py $ID:/workspace/
  nutshell tool call grep -s $ID '{"pattern": "main"}'   a tool, with the answer a model gets
  nutshell destroy $ID

'nutshell COMMAND --help' shows the options and examples of one command.)";

// Which sandboxes a command uses: those that stay (of the user's own daemon, if it runs), those
// that end with the command, or none.
enum class Sandboxes { Kept, Own, None };

struct Command {
  std::string_view name;
  std::string_view aliases;  // other names, separated by a space
  void (*add)(const CommandLine&, Program&);
  Sandboxes sandboxes = Sandboxes::Kept;
};
constexpr auto kCommands =
    std::to_array<Command>({{"run", "", add_run, Sandboxes::Own},
                            {"create", "", add_create},
                            {"exec", "", add_exec},
                            {"list", "ls ps", add_list},
                            {"info", "", add_info},
                            {"stats", "top", add_stats},
                            {"destroy", "rm", add_destroy},
                            {"logs", "", add_logs},
                            {"cp", "", add_copy},
                            {"forward", "", add_forward},
                            {"network", "", add_network},
                            {"extend", "", add_extend},
                            {"pause", "", add_pause},
                            {"resume", "", add_resume},
                            {"diff", "", add_diff},
                            {"apply", "", add_apply},
                            {"discard", "", add_discard},
                            {"checkpoint", "", add_checkpoint},
                            {"rollback", "", add_rollback},
                            {"fork", "", add_fork},
                            {"undo", "", add_undo},
                            {"tool", "", add_tool},
                            {"mcp", "", add_mcp, Sandboxes::Own},
                            {"render", "", add_render, Sandboxes::None},
                            {"gain", "", add_gain, Sandboxes::None},
                            {"audit", "", add_audit, Sandboxes::None},
                            {"history", "", add_history},
                            {"image", "", add_image, Sandboxes::None},
                            {"batch", "", add_batch, Sandboxes::None},
                            {"session", "", add_session},
                            {"pool", "", add_pool},
                            {"roche", "", add_roche},
                            {"daemon", "", add_daemon, Sandboxes::None},
                            {"config", "", add_config, Sandboxes::None},
                            {"gc", "", add_gc},
                            {"doctor", "", add_doctor, Sandboxes::Own},
                            {"schema", "", add_schema, Sandboxes::None},
                            {"version", "", add_version, Sandboxes::None},
                            {"completion", "", add_completion, Sandboxes::None}});

bool is_called(const Command& command, std::string_view name) {
  if (name == command.name) return true;
  for (std::string_view rest = command.aliases; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (name == rest.substr(0, end)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

const Command* find_command(std::string_view name) {
  const auto* const found =
      std::find_if(kCommands.begin(), kCommands.end(),
                   [name](const Command& command) { return is_called(command, name); });
  return found == kCommands.end() ? nullptr : found;
}

void add_command(const CommandLine& app, Program& program, const Command& command,
                 CommandFlags flags) {
  command.add(app, program);
  if (command.sandboxes == Sandboxes::None) return;
  CLI::App* parser = app.parser().get_subcommand(std::string(command.name));
  const CommandLine added(parser, flags);
  added
      .add_option("--daemon", program.daemon,
                  "Use the sandboxes of the daemon at this socket or URL; 'none': use no daemon")
      .group("Daemon");
  for (CLI::App* inner : parser->get_subcommands({}))
    inner->fallthrough();
}

// The number of positional words before the command to run in the sandbox; nullopt: it runs none.
std::optional<std::size_t> words_before_command(const std::string& name) {
  if (name == "run" || name == "learn") return 0;
  if (name == "exec") return 1;  // the id
  return std::nullopt;
}

// The same for the verbs of Roche, whose `exec` takes the id as a flag.
std::optional<std::size_t> words_of_roche(const std::string& verb) {
  return verb == "exec" ? std::optional<std::size_t>(0) : std::nullopt;
}

// Leaves the flags out if `run` or `exec` is called without any; other commands have required ones.
CommandFlags flags_for(const std::vector<std::string>& words) {
  const auto own_end = std::find(words.begin(), words.end(), "--");
  const bool needs_none = !words.empty() && words_before_command(words.front()).has_value();
  const bool has_dash = std::any_of(words.begin(), own_end,
                                    [](const std::string& word) { return word.starts_with('-'); });
  return needs_none && !has_dash ? CommandFlags::LeftOut : CommandFlags::Built;
}

// Building all options takes longer than starting a sandbox, so only the named command gets its
// options. `completion` has to know all of them.
void add_commands(CLI::App& app, Program& program, const std::vector<std::string>& words) {
  const std::string name = words.empty() ? "" : words.front();
  const CommandFlags flags = flags_for(words);
  const CommandLine line(&app, flags);
  const Command* named = find_command(name);
  if (named != nullptr && name != "completion") return add_command(line, program, *named, flags);
  for (const Command& command : kCommands)
    add_command(line, program, command, flags);
}

// Shows progress on one line of a terminal, which is overwritten. A text that ends with a newline
// is printed in any case, and stays.
std::function<void(const std::string&)> progress_line() {
  return [is_terminal = ::isatty(STDERR_FILENO) != 0](const std::string& text) {
    if (text.ends_with('\n')) return print_error(text.substr(0, text.size() - 1));
    if (is_terminal) fmt::print(stderr, "\r{}\033[K", terminal_line(text));
  };
}

// Adds suggestions to the parser's messages.
int explain_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const auto extras = command.remaining(false);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || extras.empty()) {
    print_error(fmt::format("{}\n  'nutshell {}{}--help' shows the usage", error.what(),
                            chosen.empty() ? "" : command.get_name(), chosen.empty() ? "" : " "));
  } else if (extras.front().starts_with("-")) {
    print_error(unknown_option(command, extras.front()));
  } else if (chosen.empty()) {
    print_error(unknown_command(app, extras.front()));
  } else {
    print_error(fmt::format("unexpected word '{}': 'nutshell {} --help' shows the usage",
                            extras.front(), command.get_name()));
  }
  return command.get_name() == "tool" ? kUsageError : kOurError;
}

// Output that cannot be flushed is an error.
Result<int> finish_output(int status) {
  if (std::fflush(stdout) == 0) return status;
  return syscall_failure("write the output");
}

Result<int> run_where_chosen(Program& program, const Command* command) {
  if (!program.chosen) return 0;
  if (command != nullptr && command->sandboxes != Sandboxes::None) {
    const bool is_kept = command->sandboxes == Sandboxes::Kept;
    TRY(choose_daemon(program, is_kept ? OwnDaemon::Used : OwnDaemon::Ignored));
  }
  return program.chosen();
}

int run_chosen(Program& program, const Command* command) {
  try {
    auto status = run_where_chosen(program, command);
    if (status) status = finish_output(*status);
    if (status) return *status;
    print_error(status.error().message);
  } catch (const std::system_error& problem) {  // fmt throws when it cannot write
    print_error(problem.what());
  }
  return kOurError;
}

// Opens /dev/null in place of closed standard descriptors: the next file we open would become one.
void open_missing_descriptors() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

// Adds the command to run to the usage line of `run` and `exec`.
class UsageFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    if (!words_before_command(app->get_name())) return usage;
    const std::size_t end = usage.find_last_not_of('\n') + 1;
    return usage.insert(end, " -- COMMAND [ARGUMENT...]");
  }
};

// The index of the first word of the command to run if there is no "--": after flags and values.
std::size_t find_command_to_run(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::size_t first = 0;  // index of the first word that is no command of ours
  while (first < words.size() && first < 2) {
    const auto named = command->get_subcommands(
        [&](const CLI::App* one) { return one->check_name(words[first]); });
    if (named.empty()) break;
    command = named.front();
    ++first;
  }
  const bool is_roche = words.size() > 1 && words.front() == kRoche;  // its id is a flag
  const auto before = first == 0               ? std::nullopt
                      : first == 2 && is_roche ? words_of_roche(words[1])
                                               : words_before_command(words[first - 1]);
  if (!before) return words.size();
  std::size_t own = *before;
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-')) {
      if (own-- == 0) return i;
      continue;
    }
    const CLI::Option* option = command->get_option_no_throw(word);
    const bool takes_value =
        option != nullptr && option->get_expected_max() > 0 && option->get_items_expected() != 0;
    if (takes_value && word.find('=') == std::string::npos) ++i;
  }
  return words.size();
}

// Splits off the command to run in the sandbox, and returns the other words in reverse order, as
// the parser wants them.
std::vector<std::string> take_own_words(const CLI::App& app, std::vector<std::string> words,
                                        Program& program) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const std::size_t command = find_command_to_run(app, {words.begin(), dashes});
  const auto start = words.begin() + static_cast<std::ptrdiff_t>(command);
  if (start < dashes) {
    program.command.assign(start, words.end());
  } else if (dashes != words.end()) {
    program.command.assign(std::next(dashes), words.end());
  }
  words.erase(start, words.end());
  std::reverse(words.begin(), words.end());
  return words;
}

// `nutshell help run` means `nutshell run --help`.
std::vector<std::string> help_words(const std::vector<std::string>& words) {
  if (words.size() < 2) return {"--help"};
  return {words[1], "--help"};
}

int run_program(int argc, char** argv) {
  open_missing_descriptors();
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  Runtime runtime({&init::run_init, self.parent_path(), {}, progress_line()});
  Program program{runtime, {}, {}, nullptr};
  CLI::App app("A shell for AI agents that they cannot crack.", "nutshell");
  app.formatter(std::make_shared<UsageFormatter>());
  app.footer(kExamples);
  app.set_version_flag("--version", std::string("nutshell ") + NUTSHELL_VERSION);
  std::vector<std::string> words(argv + 1, argv + argc);
  // Under this name the program is Roche's command.
  if (argc > 0 && std::filesystem::path(argv[0]).filename() == kRoche)
    words.insert(words.begin(), kRoche);
  if (!words.empty() && words.front() == "help") words = help_words(words);
  add_commands(app, program, words);
  try {
    app.parse(take_own_words(app, words, program));
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& problem) {
    return explain_parse_error(app, problem);
  }
  if (argc == 1) {
    program.chosen = [&app]() -> Result<int> {
      print_bytes(app.help());
      return 0;
    };
  }
  return run_chosen(program, find_command(words.empty() ? "" : words.front()));
}

}  // namespace
}  // namespace nutshell::cli

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory ends the program, as it should
int main(int argc, char** argv) {
  const int status = nutshell::cli::run_program(argc, argv);
  std::fflush(nullptr);
  ::_exit(status);  // skips the destructors of the parser's globals, which are slow
}
