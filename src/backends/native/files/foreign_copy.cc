#include "backends/native/files/foreign_copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/beneath.h"
#include "base/copy_tree.h"
#include "base/defer.h"
#include "base/file.h"
#include "base/parent_death.h"

namespace nutshell::native {
namespace {

using CapabilitySets = std::array<__user_cap_data_struct, 2>;

Result<CapabilitySets> current_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  CapabilitySets sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return syscall_failure("capget");
  return sets;
}

Result<> use_capabilities(const CapabilitySets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  if (::syscall(SYS_capset, &header, sets.data()) != 0) return syscall_failure("capset");
  return {};
}

// Runs `step` with this file system user and without capabilities that override permissions. Drops
// the supplementary groups for good, because no later step needs them.
template <typename Step>
Result<> run_as(const HostIds& user, int parent, const Step& step) {
  if (::setgroups(0, nullptr) != 0) return syscall_failure("setgroups");
  const CapabilitySets before = TRY(current_capabilities());
  CapabilitySets lowered = before;
  for (const unsigned power : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID})
    lowered[0].effective &= ~(1U << power);
  const auto old_group = static_cast<gid_t>(::setfsgid(user.group));
  const auto old_user = static_cast<uid_t>(::setfsuid(user.user));
  Result<> done = die_with_parent(parent);  // a change of user clears the parent-death signal
  if (done) done = use_capabilities(lowered);
  if (done) done = step();
  ::setfsuid(old_user);
  ::setfsgid(old_group);
  auto restored = die_with_parent(parent);
  if (restored) restored = use_capabilities(before);
  return done ? std::move(restored) : std::move(done);
}

Result<> give(int directory, const std::string& name, const HostIds& owner) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::fchownat(directory, name.c_str(), owner.user, owner.group, AT_SYMLINK_NOFOLLOW) != 0) {
    return syscall_failure("own", name);
  }
  // A change of owner clears the set-user-ID and set-group-ID bits.
  const bool has_lost = S_ISREG(status.st_mode) && (status.st_mode & 06000U) != 0;
  if (has_lost && ::fchmodat(directory, name.c_str(), status.st_mode & 07777U, 0) != 0) {
    return syscall_failure("chmod", name);
  }
  return {};
}

// Recursion is safe: only this process has the tree so far, and copy_tree() bounds its depth.
Result<> give_content(UniqueFd opened, const HostIds& owner) {  // NOLINT(misc-no-recursion)
  DIR* entries = ::fdopendir(opened.get());
  if (entries == nullptr) return syscall_failure("read the directory");
  const int directory = opened.release();  // the stream owns it now
  const Defer closed([entries] { ::closedir(entries); });
  for (;;) {
    const dirent* found = ::readdir(entries);  // NOLINT(concurrency-mt-unsafe): a stream of ours
    if (found == nullptr) return {};
    const std::string name = found->d_name;
    if (!is_plain_name(name)) continue;
    TRY(give(directory, name, owner));
    if (found->d_type != DT_DIR) continue;
    TRY(give_content(TRY(open_at(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)),
                     owner));
  }
}

}  // namespace

Result<> copy_as_its_owner(const ForeignCopy& copy) {
  struct stat status {};
  if (::fstat(copy.from, &status) != 0) return syscall_failure("stat");
  const HostIds reader{status.st_uid, status.st_gid};
  if (::fchown(copy.to, reader.user, reader.group) != 0) return syscall_failure("own");
  TRY(run_as(reader, copy.parent,
             [&] { return copy_tree(copy.from, copy.to, Unreadable::LeftOut); }));
  if (::fchown(copy.to, copy.owner.user, copy.owner.group) != 0) return syscall_failure("own");
  return give_content(TRY(open_at(copy.to, ".", O_RDONLY | O_DIRECTORY)), copy.owner);
}

}  // namespace nutshell::native
