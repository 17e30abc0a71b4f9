// The place where a tool changes a file. The parent directory is opened once, with links followed,
// and checked; everything after that is relative to its descriptor, so that swapping path
// components meanwhile has no effect.
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
  // Returns the directory and its path without links, if it is on one of the mounts. `shown` is the
  // caller's name for it.
  struct Located {
    UniqueFd directory;
    std::string path;
  };
  [[nodiscard]] Attempt<Located> open(const std::string& path, std::string_view shown) const;
  // The same, but no link is followed.
  [[nodiscard]] Attempt<Located> open_plain(const std::string& path, std::string_view shown) const;
  // Returns the path as replies show it: relative to the first root, or absolute if it is
  // elsewhere.
  [[nodiscard]] std::string relative(const std::string& path) const;

 private:
  [[nodiscard]] Attempt<> check(const Located& located, std::string_view shown) const;

  void know(std::uint64_t mount) const;

  std::vector<std::string> paths_;
  // A cache of mounts that were found to be a root, by their unique numbers.
  mutable std::vector<std::uint64_t> mounts_;
};

// A parent directory that was missing and was made.
struct MadeDirectory {
  UniqueFd parent;
  std::string name;
  std::string path;
};

struct Place {
  UniqueFd directory;
  std::string name;
  std::string path;                 // of the entry: absolute, without links on the way
  struct stat found {};             // the entry's status; mode 0 if there was no entry
  std::vector<MadeDirectory> made;  // outermost first

  [[nodiscard]] bool is_there() const { return found.st_mode != 0; }
};

enum class LastLink { Follow, Keep };
enum class Parents { Required, Made };

// `path` is absolute; `shown` is the caller's name for it.
Attempt<Place> find_place(const WritableRoots& roots, const std::string& path,
                          std::string_view shown, LastLink last_link, Parents parents);

// Removes the parents that were made, if they are still empty.
void unmake_parents(const Place& place);

// Makes a path absolute, from the working directory, and cuts trailing slashes.
std::string absolute_path(std::string_view path, const std::string& working_directory);

// Refuses with NotFound and suggests a similar name.
Refusal refuse_missing(const std::string& path, std::string_view shown);
Refusal refuse_special(const struct stat& status, std::string_view shown);

}  // namespace nutshell::init
