#include "base/state_directory.h"

#include <unistd.h>

#include <cstdlib>

#include "base/directory.h"

namespace nutshell {
namespace {

// Returns the variable; empty if it is not an absolute path.
std::filesystem::path path_in(const char* variable) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment
  const char* value = std::getenv(variable);
  return value != nullptr && *value == '/' ? std::filesystem::path(value) : std::filesystem::path();
}

}  // namespace

Result<std::filesystem::path> user_state_directory() {
  if (auto named = path_in("NUTSHELL_STATE_DIR"); !named.empty()) return named;
  if (::geteuid() == 0) return "/var/lib/nutshell";
  if (const auto state = path_in("XDG_STATE_HOME"); !state.empty()) return state / "nutshell";
  if (const auto home = path_in("HOME"); !home.empty()) return home / ".local/state/nutshell";
  return failure(ErrorCode::NotFound,
                 "there is no state directory: neither NUTSHELL_STATE_DIR, XDG_STATE_HOME nor HOME "
                 "names a directory");
}

Result<std::filesystem::path> make_user_state_directory() {
  auto place = TRY(user_state_directory());
  std::error_code error;
  std::filesystem::create_directories(place.parent_path(), error);
  if (error) return syscall_failure(error.value(), "mkdir", place.parent_path().native());
  TRY(make_directory(place));
  return place;
}

}  // namespace nutshell
