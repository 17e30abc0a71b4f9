// The directory that changes are applied to. Opens every path beneath it without following a link.
// Makes new entries in a staging directory and renames them to their place.
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
  // Locks the directory: a second apply at the same time is refused. Removes the staging directory
  // of an apply that was killed.
  static Result<ApplyTarget> open(const std::filesystem::path& directory);

  struct Place {
    UniqueFd parent;
    std::string name;
  };
  // An error if a parent directory is missing or is not a directory.
  [[nodiscard]] Result<Place> place_of(const std::string& path) const;
  // The status of the entry; nullopt if it or a parent directory is missing.
  [[nodiscard]] Result<std::optional<struct stat>> look(const std::string& path) const;
  [[nodiscard]] Result<std::string> link_target(const std::string& path) const;

  // Makes the staging directory, which the destructor removes.
  Result<> stage();
  // Makes a new file in the staging directory, open for writing.
  Result<UniqueFd> new_file();
  Result<> new_link(const std::string& target);
  Result<> new_directory();
  // Renames the entry made last to `path`. Replaces an entry that is there, but a directory only if
  // it is empty.
  Result<> put(const std::string& path);
  // Removes a directory only if it is empty.
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
