#include "runtime/private_links.h"

#include <sys/stat.h>

#include "runtime/toolchain_table.h"

namespace nutshell {
namespace {

namespace fs = std::filesystem;

constexpr int kDepth = 3;
constexpr int kMostPrivate = 512;    // entries of one private directory
constexpr int kMostShown = 400'000;  // entries of one directory that would be shown

bool search(const fs::path& directory, const std::set<std::pair<dev_t, ino_t>>& files, int& left) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    struct stat status {};
    if (--left <= 0) return true;
    if (::lstat(entry.path().c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode) && files.contains({status.st_dev, status.st_ino})) return true;
    if (S_ISDIR(status.st_mode) && search(entry.path(), files, left)) return true;
  }
  return false;
}

}  // namespace

PrivateLinks::PrivateLinks(const fs::path& home) {
  if (home.empty()) return;
  for (const std::string_view name : private_paths()) {
    int left = kMostPrivate;
    add(home / name, kDepth, left);
  }
}

void PrivateLinks::add(const fs::path& path, int depth, int& left) {
  struct stat status {};
  if (--left <= 0 || ::lstat(path.c_str(), &status) != 0) return;
  if (S_ISREG(status.st_mode) && status.st_nlink > 1) files_.emplace(status.st_dev, status.st_ino);
  if (!S_ISDIR(status.st_mode) || depth == 0) return;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error))
    add(entry.path(), depth - 1, left);
}

bool PrivateLinks::is_in(const fs::path& path) const {
  struct stat status {};
  if (files_.empty() || ::stat(path.c_str(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode)) return files_.contains({status.st_dev, status.st_ino});
  int left = kMostShown;
  return search(path, files_, left);
}

}  // namespace nutshell
