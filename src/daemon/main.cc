// nutshelld: serves sandboxes to many callers over HTTP, on a Unix socket and optionally on TCP.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "daemon/daemon.h"
#include "daemon/log.h"

namespace {

using nutshell::daemon::Command;
using nutshell::daemon::Daemon;

int print(const nutshell::Result<std::string>& text) {
  if (text) {
    fmt::print("{}", *text);
    return 0;
  }
  fmt::print(stderr, "nutshelld: {}\n", text.error().message);
  return 1;
}

nutshell::Result<std::string> describe_config(const Command& command) {
  return describe(TRY(nutshell::daemon::load_config(command)));
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
  CLI11_PARSE(app, argc, argv);
  return run(command);
}
