// The directory that a service has for itself: a second service on it is refused.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::service {

class StateDirectory {
 public:
  // Made if missing; refused if anyone else could have a hand in it, or another service uses it.
  static Result<StateDirectory> open(const std::filesystem::path& path);

  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  StateDirectory(std::filesystem::path path, UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  UniqueFd lock_;  // held as long as this lives
};

}  // namespace nutshell::service
