#include "base/state_directory.h"

#include <unistd.h>

#include "base/directory.h"
#include "base/environment.h"

namespace nutshell {
Result<std::filesystem::path> user_state_directory() {
  if (auto named = environment_path("NUTSHELL_STATE_DIR"); !named.empty()) return named;
  if (::geteuid() == 0) return "/var/lib/nutshell";
  if (const auto state = environment_path("XDG_STATE_HOME"); !state.empty())
    return state / "nutshell";
  if (const auto home = environment_path("HOME"); !home.empty())
    return home / ".local/state/nutshell";
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
