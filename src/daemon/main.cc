// nutshelld: serves sandboxes to many callers over HTTP, on a Unix socket and optionally on TCP.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <sstream>
#include <string>

#include "base/safe_text.h"
#include "daemon/daemon.h"
#include "daemon/log.h"

namespace {

using nutshell::daemon::Command;
using nutshell::daemon::Daemon;

// Makes a message safe for a terminal. Lines after the first are indented, so that a name with a
// newline cannot forge a message.
std::string message_text(std::string_view message) {
  std::string text;
  for (const char letter : nutshell::terminal_text(message)) {
    text += letter;
    if (letter == '\n') text += "  ";
  }
  return text;
}

int print(const nutshell::Result<std::string>& text) {
  if (text) {
    fmt::print("{}", nutshell::terminal_text(*text));
    return 0;
  }
  fmt::print(stderr, "nutshelld: {}\n", message_text(text.error().message));
  return 1;
}

nutshell::Result<std::string> describe_config(const Command& command) {
  const auto config = TRY(nutshell::daemon::load_config(command));
  using nutshell::daemon::describe_as_json;
  return command.is_json ? nutshell::terminal_json(describe_as_json(config)) : describe(config);
}

int run(const Command& command) {
  if (command.shows_config) return print(describe_config(command));
  if (command.recovers) return print(recover(command));
  auto daemon = Daemon::start(command);
  if (!daemon) {
    nutshell::daemon::log_line(nutshell::daemon::Level::Error, daemon.error().message);
    return 1;
  }
  if (command.is_private) {
    // The parent waits for this line.
    fmt::print("{}\n", (*daemon)->socket());
    std::fflush(stdout);
  }
  const auto ended = (*daemon)->run();
  if (!ended) nutshell::daemon::log_line(nutshell::daemon::Level::Error, ended.error().message);
  return ended ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Sandboxes for many callers");
  Command command;
  std::error_code unknown;
  command.programs = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
  app.add_option("--config", command.config, "TOML file");
  app.add_option("--socket", command.socket, "Unix socket to listen on");
  app.add_option("--state", command.state, "directory of the database and the record");
  app.add_option("--roche-port", command.roche_port,
                 "port on 127.0.0.1 for Roche's clients of this user (roche.port)")
      ->check(CLI::Range(1, 65535));
  app.add_flag("--private", command.is_private,
               "die with the parent process, and end all sandboxes; prints the socket when ready");
  app.add_flag("--recover", command.recovers,
               "put a damaged state file aside, go on with what it still has, and end");
  app.add_flag("--show-config", command.shows_config,
               "print every setting and where it comes from, and end");
  app.add_flag("--json", command.is_json, "with --show-config: print a JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    std::ostringstream trouble;
    const int status = app.exit(error, text, trouble);
    fmt::print("{}", nutshell::terminal_text(text.str()));
    fmt::print(stderr, "{}\n", message_text(trouble.str()));
    return status;
  }
  return run(command);
}
