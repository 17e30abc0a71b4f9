#include "base/environment.h"

#include <cstdlib>

namespace nutshell {

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? "" : value;
}

std::filesystem::path environment_path(const char* name) {
  std::filesystem::path path = environment_variable(name);
  if (!path.is_absolute()) path.clear();
  return path;
}

}  // namespace nutshell
