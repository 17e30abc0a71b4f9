#include "registry/credential_program.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/file.h"
#include "base/pipe.h"
#include "base/safe_text.h"
#include "base/spawn.h"
#include "base/timed_read.h"
#include "core/json_members.h"
#include "core/json_text.h"

namespace nutshell::registry {
namespace {

constexpr std::chrono::seconds kProgramTime{30};  // a keyring may have to ask its owner
constexpr std::size_t kMostAnswerBytes = 64U << 10U;
constexpr std::size_t kMostErrorBytes = 400;

bool is_program_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

// Credential helpers report a missing account in these words; their exit status does not tell.
bool says_not_found(const std::string& answer) {
  return answer.find("credentials not found") != std::string::npos;
}

Result<RegistryAccount> account_of(const std::string& answer, int status) {
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    if (says_not_found(answer)) return RegistryAccount{};
    return failure(ErrorCode::Unavailable,
                   fmt::format("it failed: {}",
                               terminal_line(std::string_view(answer).substr(0, kMostErrorBytes))));
  }
  const auto document = parse_strict(answer);
  RegistryAccount account;
  if (document) account = {text_of(*document, "Username"), text_of(*document, "Secret")};
  if (!account.secret.empty()) return account;
  return failure(ErrorCode::Corrupt, "its answer holds no account");
}

}  // namespace

Result<RegistryAccount> ask_credential_program(const std::string& name, const std::string& server) {
  if (!is_program_name(name)) {
    return failure(
        ErrorCode::InvalidArgument,
        fmt::format("'{}' is not a valid name of a credential helper", name.substr(0, 80)));
  }
  const std::string program = "docker-credential-" + name;
  const std::string what = fmt::format("ask {} for the account at {}", program, server);
  const Deadline deadline = Deadline::in(kProgramTime);
  Pipe question = TRY(make_pipe());
  Pipe reply = TRY(make_pipe());
  TRY(write_all(question.write.get(), server));  // a pipe has room for it
  question.write.reset();
  auto child = spawn({.arguments = {program, "get"},
                      .input = question.read.get(),
                      .output = reply.write.get(),
                      .error = kNullDevice});  // the caller may be a daemon without a terminal
  if (!child) return while_doing(what, std::move(child).error());
  reply.write.reset();
  auto answer = read_to_end(reply.read.get(), kMostAnswerBytes, deadline);
  if (!answer) return while_doing(what, std::move(answer).error());
  const auto status = TRY(child->wait(deadline));
  if (!status) return while_doing(what, Error{ErrorCode::DeadlineExceeded, "it does not end"});
  auto account = account_of(*answer, *status);
  if (!account) return while_doing(what, std::move(account).error());
  return account;
}

}  // namespace nutshell::registry
