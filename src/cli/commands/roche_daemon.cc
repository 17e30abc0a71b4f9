#include "cli/commands/roche_daemon.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "cli/commands/daemon.h"
#include "cli/print.h"
#include "roche/discovery.h"

namespace nutshell::cli {
namespace {

// The daemon that the file names, if its process is there.
std::optional<roche::DaemonInfo> running() {
  const auto path = roche::discovery_file();
  if (!path) return std::nullopt;
  const auto info = roche::read_discovery(*path);
  if (!info || ::kill(info->pid, 0) != 0) return std::nullopt;
  return *info;
}

std::vector<std::string> words_for(std::uint64_t port) {
  return {"--roche-port", std::to_string(port)};
}

}  // namespace

Result<int> start_roche_daemon(std::uint64_t port) {
  const StartedDaemon daemon = TRY(start_daemon(words_for(port)));
  const auto there = running();
  if (!there || there->pid != daemon.pid) {
    return failure(ErrorCode::AlreadyExists,
                   fmt::format("the daemon runs already, as process {}, without a port for Roche: "
                               "stop it with 'nutshell daemon stop', or set roche.port in its "
                               "settings",
                               daemon.pid));
  }
  print_out("Daemon {} (pid={}, port={})\n",
            std::string_view(daemon.ran_before ? "already running" : "started"), daemon.pid,
            there->port);
  return daemon.ran_before ? 1 : 0;
}

Result<int> run_roche_daemon(std::uint64_t port) {
  std::vector<std::string> words = words_for(port);
  words.insert(words.begin(), TRY(daemon_program()));
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return syscall_failure("start", words.front());
}

Result<int> stop_roche_daemon() {
  const auto there = running();
  if (!there) return failure(ErrorCode::Internal, "No daemon running");
  const int status = TRY(stop_daemon());
  print_out("Daemon stopped (pid={})\n", there->pid);
  return status;
}

Result<int> show_roche_daemon() {
  if (const auto there = running()) {
    print_out("Daemon running (pid={}, port={})\n", there->pid, there->port);
  } else {
    print_out("Daemon not running\n");
  }
  return 0;
}

}  // namespace nutshell::cli
