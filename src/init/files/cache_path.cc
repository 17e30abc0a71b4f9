#include "init/files/cache_path.h"

#include <algorithm>
#include <array>

namespace nutshell::init {
namespace {

// Directories that hold nothing but caches.
constexpr std::array<std::string_view, 17> kDirectories = {
    "__pycache__", ".pytest_cache", ".mypy_cache",   ".ruff_cache",  ".hypothesis",   ".tox",
    ".nox",        ".cache",        ".gradle",       ".npm",         ".nyc_output",   ".turbo",
    ".ccache",     ".jest-cache",   ".parcel-cache", ".eslintcache", ".phpunit.cache"};
constexpr std::array<std::string_view, 6> kEndings = {
    ".pyc", ".pyo", "/.coverage", "/.eslintcache", ".tsbuildinfo", "/.phpunit.result.cache"};

}  // namespace

bool is_cache_path(std::string_view path) {
  for (const std::string_view ending : kEndings)
    if (path.ends_with(ending)) return true;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    if (std::find(kDirectories.begin(), kDirectories.end(), name) != kDirectories.end())
      return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

}  // namespace nutshell::init
