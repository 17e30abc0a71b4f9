#include "init/layers/replace_content.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy_tree.h"
#include "init/files/remove_tree.h"

namespace nutshell::init {
namespace {

// A read-only directory cannot move, because its entry ".." changes: it is made writable.
Result<> move_entry(const Layer& from, const Layer& to, const std::string& name) {
  struct stat status {};
  if (::fstatat(from.directory(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return syscall_failure("stat", name);
  const bool is_directory = S_ISDIR(status.st_mode);
  if (is_directory && ::fchmodat(from.directory(), name.c_str(), 0700, 0) != 0)
    return syscall_failure("open up", name);
  const bool is_moved =
      ::renameat(from.directory(), name.c_str(), to.directory(), name.c_str()) == 0;
  const int error = errno;
  const int now_in = is_moved ? to.directory() : from.directory();
  if (is_directory && ::fchmodat(now_in, name.c_str(), status.st_mode & 07777U, 0) != 0)
    return syscall_failure("close", name);
  // A mount point stays where it is.
  if (is_moved || error == EBUSY) return {};
  return syscall_failure(error, "move", name);
}

Result<> move_all(const std::shared_ptr<const Layer>& from, const Layer& to) {
  for (const std::string& name : TRY(LayerView({from}).names_in("")))
    TRY(move_entry(*from, to, name));
  return {};
}

bool share_file_system(const Layer& a, const Layer& b) {
  struct stat one {};
  struct stat other {};
  return ::fstat(a.directory(), &one) == 0 && ::fstat(b.directory(), &other) == 0 &&
         one.st_dev == other.st_dev;
}

// A container's workspace is a file system of its own: the new content was kept elsewhere, and had
// fitted in it before.
Result<> copy_over(const Replacement& replacement) {
  const int target = replacement.target->directory();
  for (const std::string& name : TRY(LayerView({replacement.target}).names_in(""))) {
    if (::unlinkat(target, name.c_str(), 0) == 0) continue;
    if (errno != EISDIR) return syscall_failure("remove", name);
    if (is_mount_in(target, name)) continue;
    TRY(remove_tree(target, name, ClosedDirectories::OpenedUp));
  }
  return copy_tree(replacement.from->directory(), replacement.target->directory(),
                   Unreadable::Refused);
}

}  // namespace

Result<> replace_content(const Replacement& replacement) {
  if (!share_file_system(*replacement.target, *replacement.from)) return copy_over(replacement);
  TRY(move_all(replacement.target, *replacement.aside));
  return move_all(replacement.from, *replacement.target);
}

}  // namespace nutshell::init
