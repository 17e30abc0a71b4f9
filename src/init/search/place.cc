#include "init/search/place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/beneath.h"
#include "init/files/paths.h"

namespace nutshell::init::search {
namespace {

wire::Refused refuse(const std::string& path, const Error& error) {
  const std::string what = fmt::format("cannot open {}", path);
  switch (error.code) {
    case ErrorCode::NotFound:
      return {ErrorCode::NotFound, what, error.message,
              "list the directory above it to see its names"};
    case ErrorCode::PermissionDenied:
      return {ErrorCode::PermissionDenied, what, error.message,
              "name a place the sandbox may read"};
    case ErrorCode::InvalidArgument:
      return {ErrorCode::InvalidArgument, what, error.message,
              "name a directory or a regular file"};
    default:
      return {ErrorCode::Internal, what, error.message, "try again"};
  }
}

Result<Place> open_named(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return failure(ErrorCode::InvalidArgument, "the path has a NUL byte");
  }
  // Opened with O_PATH first, so that a FIFO or a device is only stat'ed.
  const UniqueFd found = TRY(open_beneath(AT_FDCWD, path, O_PATH, 0, Links::Follow));
  struct stat status {};
  struct statfs system {};
  if (::fstat(found.get(), &status) != 0 || ::fstatfs(found.get(), &system) != 0) {
    return syscall_failure("stat", path);
  }
  if (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC) {
    return failure(ErrorCode::InvalidArgument,
                   "the kernel's own files are read with a command instead");
  }
  if (S_ISREG(status.st_mode)) return Place{TRY(open_regular(path, O_RDONLY)), false};
  if (!S_ISDIR(status.st_mode)) {
    return failure(ErrorCode::InvalidArgument, "it is neither a directory nor a regular file");
  }
  return Place{TRY(open_beneath(found.get(), ".", O_RDONLY | O_DIRECTORY, 0, Links::Refuse)), true};
}

}  // namespace

std::variant<Place, wire::Refused> open_place(const std::string& path,
                                              const std::string& working_directory) {
  std::string whole = path.empty() ? working_directory : path;
  if (!whole.starts_with('/')) whole = working_directory + "/" + path;
  auto place = open_named(whole);
  if (!place) return refuse(path.empty() ? working_directory : path, place.error());
  return std::move(*place);
}

}  // namespace nutshell::init::search
