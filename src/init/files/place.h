// Where a tool that changes files may act. The parent directory is opened once, with links
// followed, and checked; everything after that is relative to its descriptor, so that who swaps
// path components meanwhile moves nothing.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "init/files/attempt.h"

namespace nutshell::init {

// The directories below which files may be changed; in a sandbox each is a mount.
class WritableRoots {
 public:
  explicit WritableRoots(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  // The directory and its path without links, if it is on one of the mounts. `shown` is how the
  // caller named what it wants.
  struct Located {
    UniqueFd directory;
    std::string path;
  };
  [[nodiscard]] Attempt<Located> open(const std::string& path, std::string_view shown) const;
  // The same, but no link is followed.
  [[nodiscard]] Attempt<Located> open_plain(const std::string& path, std::string_view shown) const;
  // Relative to the first root, or absolute when elsewhere: as changes are told.
  [[nodiscard]] std::string relative(const std::string& path) const;

 private:
  [[nodiscard]] Attempt<> check(const Located& located, std::string_view shown) const;

  void know(std::uint64_t mount) const;

  std::vector<std::string> paths_;
  // Mounts that were found to be a root, by numbers that no other mount will ever have: a memory
  // of the kernel's answer, no state of this object.
  mutable std::vector<std::uint64_t> mounts_;
};

// A directory that was missing on the way.
struct MadeDirectory {
  UniqueFd parent;
  std::string name;
  std::string path;
};

struct Place {
  UniqueFd directory;
  std::string name;
  std::string path;                 // of the entry: absolute, without links on the way
  struct stat found {};             // what was there; no mode: nothing
  std::vector<MadeDirectory> made;  // outermost first

  [[nodiscard]] bool is_there() const { return found.st_mode != 0; }
};

enum class LastLink { Follow, Keep };
enum class Parents { Required, Made };

// `path` is absolute; `shown` is how the caller named it.
Attempt<Place> find_place(const WritableRoots& roots, const std::string& path,
                          std::string_view shown, LastLink last_link, Parents parents);

// Takes back the parents that were made, as far as they are still empty.
void unmake_parents(const Place& place);

// Absolute, with relative ones counted from the working directory; trailing slashes are cut.
std::string absolute_path(std::string_view path, const std::string& working_directory);

// NotFound, with the name it may have been meant as.
Refusal refuse_missing(const std::string& path, std::string_view shown);
Refusal refuse_special(const struct stat& status, std::string_view shown);

}  // namespace nutshell::init
