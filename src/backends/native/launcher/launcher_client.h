// Talks to the user's launcher; starts it when it is needed and not there.
#pragma once

#include <filesystem>
#include <vector>

#include "backends/native/files/runtime_directory.h"
#include "backends/native/launcher/launcher_protocol.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

class LauncherClient {
 public:
  // NotFound when no launcher lives: then there are no kept sandboxes either. Unavailable when one
  // lives and does not answer.
  static Result<LauncherClient> connect(const RuntimeDirectory& directory);
  static Result<LauncherClient> connect_or_start(const RuntimeDirectory& directory,
                                                 const std::filesystem::path& program);

  struct Answer {
    LauncherReply reply;
    std::vector<UniqueFd> descriptors;
  };
  // NotFound if the launcher ended instead of answering: its sandboxes have ended with it.
  Result<Answer> ask(const LauncherRequest& request);

 private:
  explicit LauncherClient(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace nutshell::native
