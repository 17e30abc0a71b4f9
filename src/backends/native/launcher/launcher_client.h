// A connection to the user's launcher.
#pragma once

#include <chrono>
#include <filesystem>
#include <vector>

#include "backends/native/files/runtime_directory.h"
#include "backends/native/launcher/launcher_protocol.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

class LauncherClient {
 public:
  // NotFound if no launcher runs, which means that there are no kept sandboxes. Unavailable if one
  // runs and does not answer.
  static Result<LauncherClient> connect(const RuntimeDirectory& directory);
  static Result<LauncherClient> connect_or_start(const RuntimeDirectory& directory,
                                                 const std::filesystem::path& program);

  // For requests that the caller can do without a launcher: fails at once if none runs, and soon if
  // it does not answer.
  static Result<LauncherClient> connect_if_alive(const RuntimeDirectory& directory);

  struct Answer {
    LauncherReply reply;
    std::vector<UniqueFd> descriptors;
  };
  // NotFound if the launcher ended instead of answering; its sandboxes have ended with it.
  Result<Answer> ask(const LauncherRequest& request,
                     std::chrono::milliseconds patience = std::chrono::seconds(60));

 private:
  explicit LauncherClient(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace nutshell::native
