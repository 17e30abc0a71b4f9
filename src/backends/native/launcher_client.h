// Talks to the user's launcher; starts it when it is needed and not there.
#pragma once

#include <filesystem>
#include <vector>

#include "backends/native/launcher_protocol.h"
#include "backends/native/runtime_directory.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

class LauncherClient {
 public:
  // Unavailable when no launcher runs: then there are no kept sandboxes either.
  static Result<LauncherClient> connect(const RuntimeDirectory& directory);
  static Result<LauncherClient> connect_or_start(const RuntimeDirectory& directory,
                                                 const std::filesystem::path& program);

  struct Answer {
    LauncherReply reply;
    std::vector<UniqueFd> descriptors;
  };
  Result<Answer> ask(const LauncherRequest& request);

 private:
  explicit LauncherClient(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace nutshell::native
