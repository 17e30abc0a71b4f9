#include "init/files/remove_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <vector>

#include "init/files/capture.h"
#include "init/files/regular_file.h"

namespace nutshell::init {
namespace {

Result<struct statx> look_at(int directory, const std::string& name) {
  struct statx status {};
  constexpr unsigned kWanted = STATX_TYPE | STATX_MODE;
  if (::statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW, kWanted, &status) != 0)
    return syscall_failure("stat", name);
  return status;
}

// If the kernel does not tell (gVisor), another file system counts as a mount.
bool is_mount(int directory, const struct statx& status) {
  if ((status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
    return (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  struct stat parent {};
  return ::fstatat(directory, ".", &parent, 0) != 0 ||
         parent.st_dev != makedev(status.stx_dev_major, status.stx_dev_minor);
}

// Directories deeper than kMostDepth are first moved up beside the top, so that neither descriptors
// nor stack run out.
class Removal {
 public:
  Removal(int top, ClosedDirectories closed) : top_(top), closed_(closed) {}

  Result<> run(const std::string& name) {
    TRY(remove_directory(top_, name, 0));
    while (!moved_up_.empty()) {
      const std::string next = std::move(moved_up_.back());
      moved_up_.pop_back();
      TRY(remove_directory(top_, next, 0));
    }
    return {};
  }

 private:
  Result<> remove_directory(int directory, const std::string& name, int depth) {
    const struct statx status = TRY(look_at(directory, name));
    if (!S_ISDIR(status.stx_mode)) return remove_other(directory, name);
    if (is_mount(directory, status))
      return failure(ErrorCode::PermissionDenied, fmt::format("{} is a mount", name));
    TRY(open_up(directory, name, status.stx_mode));
    TRY(each_entry(directory, name, [&](int opened, const std::string& entry) {
      return remove_entry(opened, entry, depth + 1);
    }));
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0) {
      return syscall_failure("remove", name);
    }
    return {};
  }

  // A link is removed as a link, whatever it leads to.
  static Result<> remove_other(int directory, const std::string& name) {
    if (::unlinkat(directory, name.c_str(), 0) != 0) return syscall_failure("remove", name);
    return {};
  }

  // Without privileges a mode can keep even the owner out.
  Result<> open_up(int directory, const std::string& name, unsigned mode) const {
    const bool is_open = (mode & S_IRWXU) == S_IRWXU;
    if (closed_ == ClosedDirectories::Respected || is_open || !S_ISDIR(mode)) return {};
    if (::fchmodat(directory, name.c_str(), S_IRWXU, 0) != 0)
      return syscall_failure("open up", name);
    return {};
  }

  Result<> remove_entry(int directory, const std::string& name, int depth) {
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR && errno != EPERM) return syscall_failure("remove", name);
    if (depth % kMostDepth != 0) return remove_directory(directory, name, depth);
    std::string above = temporary_name();
    if (::renameat(directory, name.c_str(), top_, above.c_str()) != 0) {
      // If a directory cannot be moved (EXDEV), only the number of descriptors bounds the depth.
      return errno == EXDEV ? remove_directory(directory, name, depth)
                            : syscall_failure("remove", name);
    }
    moved_up_.push_back(std::move(above));
    return {};
  }

  int top_;
  ClosedDirectories closed_;
  std::vector<std::string> moved_up_;
};

}  // namespace

bool is_mount_in(int directory, const std::string& name) {
  const auto status = look_at(directory, name);
  return status && is_mount(directory, *status);
}

Result<> remove_tree(int directory, const std::string& name, ClosedDirectories closed) {
  return Removal(directory, closed).run(name);
}

}  // namespace nutshell::init
