// Connections to a daemon that listens on TCP. Names and TLS are the work of a program beside us,
// so that this one needs neither a resolver nor a TLS library and stays one that may clone itself.
// Not thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::api {

class Bridges {
 public:
  explicit Bridges(std::filesystem::path program) : program_(std::move(program)) {}

  // A stream to what listens at `url`. It ends with the socket, or with this object.
  Result<UniqueFd> open(const std::string& url);

 private:
  void forget_ended();

  std::filesystem::path program_;
  std::vector<ChildProcess> children_;
};

}  // namespace nutshell::api
