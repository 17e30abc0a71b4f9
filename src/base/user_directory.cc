#include "base/user_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/directory.h"
#include "base/environment.h"

namespace nutshell {
namespace {

std::filesystem::path choose_path() {
  if (auto named = environment_path("NUTSHELL_RUNTIME_DIR"); !named.empty()) return named;
  if (::geteuid() == 0) return "/run/nutshell";
  const auto session = environment_path("XDG_RUNTIME_DIR");
  struct stat status {};
  if (!session.empty() && ::stat(session.c_str(), &status) == 0 && status.st_uid == ::geteuid())
    return session / "nutshell";
  return fmt::format("/tmp/nutshell-{}", ::geteuid());
}

}  // namespace

Result<std::filesystem::path> open_user_directory() {
  std::filesystem::path directory = choose_path();
  TRY(make_private_directory(directory, "remove it, or name another with NUTSHELL_RUNTIME_DIR"));
  return directory;
}

}  // namespace nutshell
