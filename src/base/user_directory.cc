#include "base/user_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

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
  const char* path = directory.c_str();
  if (::mkdir(path, 0700) != 0 && errno != EEXIST) return syscall_failure("mkdir", path);
  struct stat status {};
  if (::lstat(path, &status) != 0) return syscall_failure("stat", path);
  const bool is_ours =
      S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 077U) == 0;
  if (!is_ours) {
    return failure(ErrorCode::PermissionDenied,
                   fmt::format("{} is not a directory of yours with mode 0700: remove it, or name "
                               "another with NUTSHELL_RUNTIME_DIR",
                               path));
  }
  return directory;
}

}  // namespace nutshell
