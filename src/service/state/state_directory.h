// The state directory of a service, locked against a second service.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::service {

class StateDirectory {
 public:
  // Makes the directory if it is missing. Refuses one that other users can write to, or that
  // another service uses.
  static Result<StateDirectory> open(const std::filesystem::path& path);

  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  StateDirectory(std::filesystem::path path, UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  UniqueFd lock_;  // an flock until the end of this object
};

}  // namespace nutshell::service
