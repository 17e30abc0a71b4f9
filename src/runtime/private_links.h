// Finds hard links to private files in directories that a sandbox would be shown.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <set>
#include <utility>

namespace nutshell {

class PrivateLinks {
 public:
  // Looks for files of the private paths below this home directory that have another name. Usually
  // there is none, and nothing else has to be looked at.
  explicit PrivateLinks(const std::filesystem::path& home);

  // Whether the file, or any file in the directory, is one of them; also if there is too much in
  // the directory to tell.
  [[nodiscard]] bool is_in(const std::filesystem::path& path) const;

 private:
  void add(const std::filesystem::path& path, int depth, int& left);

  std::set<std::pair<dev_t, ino_t>> files_;
};

}  // namespace nutshell
