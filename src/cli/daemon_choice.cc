#include "cli/daemon_choice.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <functional>

#include "base/environment.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/socket.h"
#include "base/user_directory.h"

namespace nutshell::cli {
namespace {

constexpr const char* kNone = "none";
constexpr std::size_t kMostTokenBytes = 4096;

Result<std::string> read_token() {
  std::string token = environment_variable("NUTSHELL_TOKEN");
  const std::string file = environment_variable("NUTSHELL_TOKEN_FILE");
  if (token.empty() && !file.empty()) token = TRY(read_file(file, kMostTokenBytes));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r'))
    token.pop_back();
  const bool is_sound = token.find_first_of(std::string_view("\r\n\0 ", 4)) == std::string::npos;
  if (is_sound) return token;
  return failure(
      ErrorCode::InvalidArgument,
      "the token (NUTSHELL_TOKEN or NUTSHELL_TOKEN_FILE) has more than one word or line");
}

// Gives this daemon a directory of its own for what we remember about its sandboxes.
Result<> keep_apart(const DaemonAccess& access) {
  const auto place =
      TRY(open_user_directory()) / ("at-" + sha256_hex(to_string(access)).substr(0, 16));
  ::setenv("NUTSHELL_RUNTIME_DIR", place.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  TRY(open_user_directory());
  return {};
}

Result<> use_named(Program& program, const std::string& named, std::string_view where) {
  auto access = parse_daemon_address(named);
  if (!access) return while_doing(where, std::move(access).error());
  access->token = TRY(read_token());
  const auto user = TRY(open_user_directory());
  access->shares_directory = access->socket == user / kDaemonSocket;
  if (!access->shares_directory) TRY(keep_apart(*access));
  program.runtime.use_daemon(std::move(*access));
  return {};
}

// Uses the daemon of this user if one runs. Most users have none, so that is no error.
Result<> use_own(Program& program) {
  const auto user = open_user_directory();
  if (!user) return {};
  const auto socket = *user / kDaemonSocket;
  if (!connect_to(socket, SocketKind::Stream)) return {};
  program.runtime.use_daemon(DaemonAccess{socket, {}, {}, true});
  return {};
}

}  // namespace

Result<> choose_daemon(Program& program, OwnDaemon own) {
  const std::string environment = environment_variable("NUTSHELL_DAEMON");
  const std::string& named = program.daemon.empty() ? environment : program.daemon;
  if (named == kNone) return {};
  const char* where = program.daemon.empty() ? "NUTSHELL_DAEMON" : "--daemon";
  if (!named.empty()) return use_named(program, named, where);
  return own == OwnDaemon::Used ? use_own(program) : Result<>();
}

Result<> choose_daemon_of_config(Program& program, const std::string& named) {
  const bool is_overruled =
      !program.daemon.empty() || !environment_variable("NUTSHELL_DAEMON").empty();
  if (named.empty() || is_overruled) return {};
  if (named == kNone) {
    program.runtime.use_daemon(std::nullopt);
    return {};
  }
  return use_named(program, named, "daemon");
}

}  // namespace nutshell::cli
