#include "init/files/near_name.h"

#include <dirent.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "base/beneath.h"
#include "base/edit_distance.h"
#include "base/unique_fd.h"

namespace nutshell::init {
namespace {

constexpr int kMostEntries = 5000;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::string nearest_entry(const std::string& directory, const std::string& name) {
  auto opened =
      open_beneath(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0, Links::Follow);
  if (!opened) return {};
  const std::unique_ptr<DIR, CloseDirectory> entries(::fdopendir(opened->get()));
  if (!entries) return {};
  (void)opened->release();  // owned by the DIR from here on
  std::string best;
  std::size_t fewest = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (int i = 0; i < kMostEntries; ++i) {
    const dirent* entry = ::readdir(entries.get());  // NOLINT(concurrency-mt-unsafe): one thread
    if (entry == nullptr) break;
    std::string candidate = entry->d_name;
    if (!is_plain_name(candidate)) continue;
    if (::strcasecmp(candidate.c_str(), name.c_str()) == 0) return candidate;
    const std::size_t distance = edit_distance(candidate, name, fewest - 1);
    const bool is_better = distance < fewest || (distance == fewest && candidate < best);
    if (!is_better) continue;
    fewest = distance;
    best = candidate;
  }
  return best;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

}  // namespace

std::string near_path(const std::string& path) {
  std::string directory = path;
  std::string name;
  std::string rest;
  while (directory != "/" && !directory.empty()) {
    const std::size_t slash = directory.rfind('/');
    if (!name.empty()) rest.insert(0, "/" + name);
    name = directory.substr(slash + 1);
    directory.resize(slash);
    if (exists(directory + "/")) break;
  }
  if (name.empty()) return {};
  const std::string found = nearest_entry(directory + "/", name);
  if (found.empty()) return {};
  std::string meant = directory + "/" + found;
  if (exists(meant + rest)) meant += rest;
  return meant;
}

}  // namespace nutshell::init
