// The directory that changes are applied to. Every path is opened beneath it without following a
// link; what is new is made in a staging directory and gets its name in one step.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell {

class ApplyTarget {
 public:
  // Alone: two at once are refused. Removes what one that was killed left.
  static Result<ApplyTarget> open(const std::filesystem::path& directory);

  struct Place {
    UniqueFd parent;
    std::string name;
  };
  // An error where a part of the way is missing, or no directory.
  [[nodiscard]] Result<Place> place_of(const std::string& path) const;
  // What lies there; nothing, also where a part of the way is missing.
  [[nodiscard]] Result<std::optional<struct stat>> look(const std::string& path) const;
  [[nodiscard]] Result<std::string> link_target(const std::string& path) const;

  // Makes the staging directory, which goes with this object.
  Result<> stage();
  // A new file in it, to be written.
  Result<UniqueFd> new_file();
  Result<> new_link(const std::string& target);
  Result<> new_directory();
  // What was made last gets the name, and what was there goes: a directory only if it is empty.
  Result<> put(const std::string& path);
  // A directory only if it is empty.
  [[nodiscard]] Result<> remove(const std::string& path) const;

  ApplyTarget(ApplyTarget&&) = default;
  ApplyTarget& operator=(ApplyTarget&&) = delete;
  ~ApplyTarget();

 private:
  explicit ApplyTarget(UniqueFd root) : root_(std::move(root)) {}

  UniqueFd root_;
  UniqueFd staging_;
};

}  // namespace nutshell
