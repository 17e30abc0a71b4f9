#include "backends/native/files/workspace_mount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "backends/native/files/mounts.h"
#include "backends/native/files/own_paths.h"
#include "backends/native/processes/child_answer.h"
#include "base/defer.h"
#include "base/file.h"
#include "base/parent_death.h"
#include "base/socket.h"

// Newer than the headers of some distributions we build on.
#ifndef MOVE_MOUNT_BENEATH
#define MOVE_MOUNT_BENEATH 0x00000200
#endif

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kPlace = "/workspace";
constexpr std::size_t kMostLayers = 64;
constexpr std::size_t kMostLayerName = 16;
constexpr auto kBringTime = 20s;

struct Ids {
  uid_t user;
  gid_t group;
};

// Makes a user namespace that maps `from` to `to`, by which the kernel maps the owners of a mount.
// The namespace lives as long as its descriptor.
Result<UniqueFd> make_translation(const Ids& from, const HostIds& to) {
  const auto holder =
      static_cast<pid_t>(::syscall(SYS_clone, static_cast<unsigned long>(CLONE_NEWUSER | SIGCHLD),
                                   nullptr, nullptr, nullptr, nullptr));
  if (holder < 0) return syscall_failure("clone", "user namespace");
  if (holder == 0) {
    for (;;)
      ::pause();
  }
  const Defer ended([holder] {
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
  });
  const std::string process = fmt::format("/proc/{}/", holder);
  TRY(write_value(process + "uid_map", fmt::format("{} {} 1", from.user, to.user)));
  TRY(write_value(process + "gid_map", fmt::format("{} {} 1", from.group, to.group)));
  return open_file(process + "ns/user", O_RDONLY);
}

Result<> translate_owner(int mount, const HostIds& to) {
  struct stat status {};
  if (::fstat(mount, &status) != 0) return syscall_failure("stat", kPlace);
  const UniqueFd translation = TRY(make_translation({status.st_uid, status.st_gid}, to));
  mount_attr wanted{};
  wanted.attr_set = MOUNT_ATTR_IDMAP;
  wanted.userns_fd = static_cast<std::uint64_t>(translation.get());
  if (::mount_setattr(mount, "", AT_EMPTY_PATH, &wanted, sizeof wanted) == 0) return {};
  const int problem = errno;
  const Error error =
      syscall_failure(problem, "translate the owner of the directory's files").value();
  const bool is_unable = problem == EINVAL || problem == ENOSYS || problem == EPERM;
  if (!is_unable) return Failure(error);
  return failure(
      ErrorCode::Unsupported,
      error.message + "; its file system, or this kernel, does not support mapped owners");
}

Result<UniqueFd> clone_host_directory(const HostDirectory& directory) {
  const UniqueFd opened = TRY(open_file(directory.path, O_PATH | O_DIRECTORY));
  UniqueFd mount = TRY(clone_mount(opened.get(), "", Subtree::One));
  std::uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (directory.access == UnsafeMount::Access::ReadOnly) attributes |= MOUNT_ATTR_RDONLY;
  TRY(set_attributes(mount.get(), attributes, Subtree::One));
  const bool is_translated =
      directory.privilege == Privilege::Root && directory.translation != Translation::None;
  if (!is_translated) return mount;
  auto translated = translate_owner(mount.get(), directory.owner);
  const bool is_accepted = translated || (translated.error().code == ErrorCode::Unsupported &&
                                          directory.translation == Translation::WherePossible);
  if (!is_accepted) return Failure(std::move(translated).error());
  return mount;
}

// A plain user may mount only in a mount namespace of its own, so a child makes one. The detached
// mount outlives the child.
Result<UniqueFd> bring_through_child(const HostDirectory& directory) {
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Packets));
  const pid_t own = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return syscall_failure("fork");
  if (child == 0) {
    if (!die_with_parent_process(own)) ::_exit(1);
    auto mount = ::unshare(CLONE_NEWNS) == 0
                     ? clone_host_directory(directory)
                     : Result<UniqueFd>(syscall_failure("unshare", "mount"));
    std::vector<int> descriptors;
    if (mount) descriptors.push_back(mount->get());
    const Result<> done = mount ? Result<>() : Failure(mount.error());
    (void)send_packet(theirs.get(), encode_answer(done), descriptors);  // the parent sees its end
    ::_exit(0);
  }
  theirs.reset();
  auto packet = receive_packet(ours.get(), Deadline::in(kBringTime));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  if (!packet) return Failure(std::move(packet).error());
  TRY(decode_answer(packet->bytes));
  if (packet->descriptors.empty()) return failure(ErrorCode::Internal, "it sent no mount");
  return std::move(packet->descriptors.front());
}

// The base is mounted in the store only while the overlay is made: the sandbox's mount table would
// show its path on the host.
Result<> mount_base(const WorkspaceStack& stack) {
  if (::mkdirat(stack.store, kBaseLayer, 0700) != 0 && errno != EEXIST) {
    return syscall_failure("mkdir", kBaseLayer);
  }
  return attach_mount(stack.base, stack.store, kBaseLayer);
}

std::string lower_names(const WorkspaceStack& stack) {
  std::string names;
  for (auto layer = std::next(stack.layers.rbegin()); layer != stack.layers.rend(); ++layer) {
    names += (names.empty() ? "" : ":") + *layer;
  }
  if (stack.base >= 0) names += (names.empty() ? "" : ":") + std::string(kBaseLayer);
  return names;
}

// All names are relative to the store, because the sandbox's mount table shows them.
Result<UniqueFd> make_overlay(const WorkspaceStack& stack) {
  const std::string& top = stack.layers.back();
  auto overlay = new_file_system("overlay",
                                 {{"source", "workspace"},
                                  {"lowerdir", lower_names(stack)},
                                  {"upperdir", top},
                                  {"workdir", top + kWorkSuffix},
                                  {"userxattr", ""}},
                                 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
  if (overlay) return overlay;
  return failure(ErrorCode::Unsupported,
                 fmt::format("stack the workspace: {}", overlay.error().message));
}

}  // namespace

Result<> show_workspace(int workspace, OldMount old_mount) {
  if (old_mount == OldMount::Covered) return attach_mount(workspace, AT_FDCWD, kPlace);
  const UniqueFd place = TRY(open_file(kPlace, O_PATH | O_DIRECTORY));
  const unsigned flags =
      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH | static_cast<unsigned>(MOVE_MOUNT_BENEATH);
  const bool is_beneath = ::move_mount(workspace, "", place.get(), "", flags) == 0;
  // There is nothing to detach if an earlier process was killed between detaching and attaching.
  const bool is_detached = ::umount2(kPlace, MNT_DETACH) == 0 || (errno == EINVAL && !is_beneath);
  if (!is_detached) return syscall_failure("detach", kPlace);
  // Before Linux 6.5 there is a moment at which neither mount is there.
  return is_beneath ? Result<>() : attach_mount(workspace, AT_FDCWD, kPlace);
}

Result<UniqueFd> bring_host_directory(const HostDirectory& directory) {
  auto brought = directory.privilege == Privilege::Root ? clone_host_directory(directory)
                                                        : bring_through_child(directory);
  if (brought) return brought;
  return while_doing(fmt::format("mount {}", directory.path), std::move(brought).error());
}

Result<UniqueFd> bring_again(const UniqueFd& brought, const HostDirectory& directory) {
  if (directory.privilege == Privilege::Root) {
    // A detached mount can be cloned since Linux 6.15; before, the path is opened again.
    auto cloned = clone_mount(brought.get(), "", Subtree::One);
    if (cloned) return cloned;
  }
  UniqueFd again = TRY(bring_host_directory(directory));
  struct stat first {};
  struct stat second {};
  if (::fstat(brought.get(), &first) != 0 || ::fstat(again.get(), &second) != 0)
    return syscall_failure("stat", directory.path);
  if (first.st_dev == second.st_dev && first.st_ino == second.st_ino) return again;
  return failure(ErrorCode::NotFound,
                 fmt::format("{} is not the directory that it was when the sandbox was started",
                             directory.path));
}

namespace {

// Whether every user of the host can reach the directory and list it.
bool is_open_to_all(const std::string& directory) {
  std::error_code error;
  const fs::path place = fs::canonical(directory, error);
  if (error) return false;
  struct stat status {};
  fs::path above;
  for (const fs::path& name : place) {
    above /= name;
    if (::stat(above.c_str(), &status) != 0 || (status.st_mode & S_IXOTH) == 0) return false;
  }
  return (status.st_mode & S_IROTH) != 0;
}

}  // namespace

Result<UniqueFd> bring_shown(const std::string& path, const HostDirectory& like) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return syscall_failure("mount", path);
  if (S_ISDIR(status.st_mode)) {
    HostDirectory directory = like;
    directory.path = path;
    if (is_open_to_all(path)) directory.translation = Translation::None;
    return bring_host_directory(directory);
  }
  const bool is_small =
      S_ISREG(status.st_mode) && status.st_size <= static_cast<off_t>(kMostShownFile);
  if (is_small) return open_file(path, O_RDONLY | O_NONBLOCK);
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("mount {}: it must be a directory or a file of at most 1 MiB; use "
                             "'--copy' or 'nutshell cp' for larger files",
                             path));
}

Result<> check_layers(const std::vector<std::string>& layers) {
  const auto is_name = [](const std::string& name) {
    return !name.empty() && name.size() <= kMostLayerName && name != kBaseLayer &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos;
  };
  const bool is_good = !layers.empty() && layers.size() <= kMostLayers &&
                       std::all_of(layers.begin(), layers.end(), is_name) &&
                       std::set(layers.begin(), layers.end()).size() == layers.size();
  if (is_good) return {};
  return failure(ErrorCode::InvalidArgument, "invalid names of layers");
}

Result<UniqueFd> make_workspace(const WorkspaceStack& stack) {
  TRY(check_layers(stack.layers));
  if (::fchdir(stack.store) != 0) return syscall_failure("enter the store");
  if (stack.base >= 0) TRY(mount_base(stack));
  auto overlay = make_overlay(stack);
  if (stack.base >= 0 && ::umount2(kBaseLayer, MNT_DETACH) != 0) {
    return syscall_failure("detach", kBaseLayer);
  }
  if (::chdir("/") != 0) return syscall_failure("chdir", "/");
  return overlay;
}

Result<> mount_workspace(const WorkspaceStack& stack, OldMount old_mount) {
  const UniqueFd workspace = TRY(make_workspace(stack));
  return show_workspace(workspace.get(), old_mount);
}

}  // namespace nutshell::native
