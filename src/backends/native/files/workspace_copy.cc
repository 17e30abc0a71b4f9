#include "backends/native/files/workspace_copy.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "backends/native/files/foreign_copy.h"
#include "backends/native/files/workspace_mount.h"
#include "base/copy_tree.h"
#include "base/defer.h"
#include "base/file.h"
#include "base/parent_death.h"

namespace nutshell::native {
namespace {

constexpr const char* kPristine = "pristine";
constexpr const char* kMark = "user.overlay.nutshell";

Result<UniqueFd> open_directory(int directory, const char* name) {
  return open_at(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

Result<UniqueFd> open_workspace(const WorkspaceCopy& copy) {
  UniqueFd workspace = TRY(open_directory(copy.store, kFirstLayer));
  struct stat status {};
  if (::fstat(copy.from, &status) != 0 ||
      ::fchmod(workspace.get(), (status.st_mode & 0777U) | 0700U) != 0) {
    return syscall_failure("own", "/workspace");
  }
  return workspace;
}

Result<UniqueFd> copy_as_sandbox(const WorkspaceCopy& copy, int workspace) {
  // Copies as the sandbox's user, who gets no copy of what it may not read.
  const auto user = static_cast<uid_t>(::setfsuid(copy.owner.user));
  const auto group = static_cast<gid_t>(::setfsgid(copy.owner.group));
  const Defer returned([&] {
    ::setfsuid(user);
    ::setfsgid(group);
    (void)die_with_parent(copy.parent);  // guard_init() calls it again and reports a failure
  });
  TRY(die_with_parent(copy.parent));  // a change of user clears the parent-death signal
  if (copy.reader == Reader::SandboxUser) TRY(copy_tree(copy.from, workspace, Unreadable::LeftOut));
  if (::mkdirat(copy.store, kPristine, 0700) != 0) return syscall_failure("mkdir", kPristine);
  UniqueFd pristine = TRY(open_directory(copy.store, kPristine));
  TRY(copy_tree(workspace, pristine.get(), Unreadable::LeftOut));
  return pristine;
}

Result<UniqueFd> copy_twice(const WorkspaceCopy& copy) {
  const UniqueFd workspace = TRY(open_workspace(copy));
  if (copy.reader == Reader::DirectoryOwner)
    TRY(copy_as_its_owner({copy.from, workspace.get(), copy.owner, copy.parent}));
  return copy_as_sandbox(copy, workspace.get());
}

}  // namespace

Result<UniqueFd> copy_workspace(const WorkspaceCopy& copy) {
  auto pristine = copy_twice(copy);
  if (pristine) return pristine;
  if (pristine.error().code != ErrorCode::ResourceExhausted) {
    return while_doing("copy the workspace", std::move(pristine).error());
  }
  return failure(ErrorCode::ResourceExhausted,
                 "copy the workspace: " + pristine.error().message +
                     "; the directory is copied twice, and both copies count: raise --disk and "
                     "--memory, or take a smaller directory");
}

Result<> check_layer_marks(int directory) {
  const UniqueFd opened = TRY(open_directory(directory, "."));
  if (::fsetxattr(opened.get(), kMark, "y", 1, 0) != 0) {
    return failure(
        ErrorCode::Unsupported,
        "this kernel's tmpfs has no extended attributes (Linux 6.6 and later have them)");
  }
  if (::fremovexattr(opened.get(), kMark) != 0) return syscall_failure("remove", kMark);
  return {};
}

}  // namespace nutshell::native
