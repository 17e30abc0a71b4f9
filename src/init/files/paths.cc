#include "init/files/paths.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/beneath.h"

namespace nutshell::init {

Result<UniqueFd> open_regular(const std::string& path, int flags) {
  UniqueFd fd = TRY(open_beneath(AT_FDCWD, path, flags | O_NONBLOCK | O_NOCTTY, 0, Links::Follow));
  struct stat status {};
  struct statfs system {};
  if (::fstat(fd.get(), &status) != 0 || ::fstatfs(fd.get(), &system) != 0) {
    return syscall_failure("stat", path);
  }
  if (S_ISDIR(status.st_mode)) {
    return failure(ErrorCode::InvalidArgument, fmt::format("{} is a directory", path));
  }
  if (!S_ISREG(status.st_mode) || system.f_type == PROC_SUPER_MAGIC) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("{} is not a regular file: read it with a command instead", path));
  }
  return fd;
}

Result<std::pair<UniqueFd, std::string>> open_parent(std::string path) {
  constexpr int kMostLinks = 16;
  for (int links = 0; links < kMostLinks; ++links) {
    const std::filesystem::path whole(path);
    const std::string name = whole.filename().native();
    if (!is_plain_name(name)) {
      return failure(ErrorCode::InvalidArgument, fmt::format("'{}' names no file", path));
    }
    const std::string parent = whole.has_parent_path() ? whole.parent_path().native() : ".";
    UniqueFd directory =
        TRY(open_beneath(AT_FDCWD, parent, O_PATH | O_DIRECTORY, 0, Links::Follow));
    std::array<char, 4096> target{};
    const ssize_t size =
        ::readlinkat(directory.get(), name.c_str(), target.data(), target.size() - 1);
    if (size < 0) return std::pair(std::move(directory), name);
    path = (std::filesystem::path(parent) / target.data()).native();
  }
  return failure(ErrorCode::InvalidArgument, fmt::format("{}: too many links", path));
}

std::string read_link(int directory, const std::string& name) {
  std::array<char, 4096> target;
  const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string();
}

wire::FileInfo describe(const struct stat& status, std::string path) {
  wire::FileInfo info;
  info.path = std::move(path);
  info.mode = status.st_mode & 07777U;
  info.size = static_cast<std::uint64_t>(status.st_size);
  info.modified_ns =
      static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (S_ISREG(status.st_mode)) info.kind = wire::FileKind::Regular;
  if (S_ISDIR(status.st_mode)) info.kind = wire::FileKind::Directory;
  if (S_ISLNK(status.st_mode)) info.kind = wire::FileKind::Link;
  return info;
}

}  // namespace nutshell::init
