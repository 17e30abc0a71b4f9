#include "base/user_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/directory.h"

namespace nutshell {
namespace {

std::filesystem::path choose_path() {
  // NOLINTBEGIN(concurrency-mt-unsafe): read before any thread is started
  if (const char* named = std::getenv("NUTSHELL_RUNTIME_DIR"); named != nullptr && *named == '/') {
    return named;
  }
  if (::geteuid() == 0) return "/run/nutshell";
  const char* session = std::getenv("XDG_RUNTIME_DIR");
  // NOLINTEND(concurrency-mt-unsafe)
  struct stat status {};
  if (session != nullptr && *session == '/' && ::stat(session, &status) == 0 &&
      status.st_uid == ::geteuid()) {
    return std::filesystem::path(session) / "nutshell";
  }
  return fmt::format("/tmp/nutshell-{}", ::geteuid());
}

}  // namespace

Result<std::filesystem::path> open_user_directory() {
  std::filesystem::path directory = choose_path();
  TRY(make_private_directory(directory, "remove it, or name another with NUTSHELL_RUNTIME_DIR"));
  return directory;
}

}  // namespace nutshell
