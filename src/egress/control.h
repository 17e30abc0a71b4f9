// Answers the questions of other programs of this user about one sandbox's network, over a socket
// in the user's runtime directory.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "egress/relay.h"

namespace nutshell::egress {

class ControlSocket {
 public:
  // Listens there; only this user can enter the directory.
  static Result<ControlSocket> open(std::filesystem::path path);

  ControlSocket(ControlSocket&& other) noexcept;
  ControlSocket& operator=(ControlSocket&&) = delete;
  ~ControlSocket();  // removes the path

  // Answers until `end` is readable, or a caller asks to stop. The connection of that caller stays
  // open until this process has ended.
  void serve(Relay& relay, int end);

 private:
  ControlSocket(std::filesystem::path path, UniqueFd listener)
      : path_(std::move(path)), listener_(std::move(listener)) {}
  // Returns false if the caller asks to stop.
  bool answer(Relay& relay);

  std::filesystem::path path_;  // empty once moved from
  UniqueFd listener_;
  UniqueFd last_caller_;
};

}  // namespace nutshell::egress
