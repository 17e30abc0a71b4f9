#include "backends/native/files/rootfs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "backends/native/files/device_directory.h"
#include "backends/native/files/mounts.h"
#include "backends/native/files/private_view.h"
#include "backends/native/files/workspace_copy.h"
#include "backends/native/files/workspace_mount.h"
#include "backends/native/namespaces/user_counts.h"
#include "base/beneath.h"
#include "base/file.h"
#include "images/host_root.h"

namespace nutshell::native {
namespace {

constexpr const char* kNoTranslation =
    "its file system, or this kernel, does not support mapped owners";
constexpr std::uint64_t kReadOnly = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
// Where the new root is mounted before it becomes the root.
constexpr const char* kStagingPlace = "/tmp";

Result<> make_directory(int root, const char* name, mode_t mode = 0755) {
  if (::mkdirat(root, name, mode) != 0 && errno != EEXIST) return syscall_failure("mkdir", name);
  return {};
}

// Attaches the mount at the staging place and returns its root directory.
Result<UniqueFd> stage(int mount) {
  TRY(attach_mount(mount, AT_FDCWD, kStagingPlace));
  return open_file(kStagingPlace, O_PATH | O_DIRECTORY);
}

// Mounts a directory of the host at the same path. Locks on its files are the host's.
Result<> bind_directory(int root, const std::string& name) {
  const UniqueFd tree = TRY(clone_mount(AT_FDCWD, ("/" + name).c_str(), Subtree::Recursive));
  TRY(set_attributes(tree.get(), kReadOnly, Subtree::Recursive));
  return attach_mount(tree.get(), root, name.c_str());
}

Result<> share_directories(const RootSource& source, const std::vector<std::string>& names,
                           int root, int empty) {
  if (source.locks == Locks::Shared) {
    for (const std::string& name : names)
      TRY(bind_directory(root, name));
    return {};
  }
  const MountTable table = TRY(MountTable::read());
  for (const std::string& name : names) {
    auto mounted = mount_private_view(
        {"/" + name, fmt::format("{}/{}", kStagingPlace, name), empty, source.privilege}, table);
    if (mounted) continue;
    return failure(ErrorCode::Unsupported,
                   fmt::format("{}; without it the sandbox's file locks would lock the host's "
                               "files: accept that with --unsafe-without locks",
                               mounted.error().message));
  }
  return {};
}

struct Staged {
  UniqueFd root;
  bool has_devices = false;
  UniqueFd memory;  // if the root has an upper layer: the directory in memory that holds it
};

// Mounts the directory at the staging place, below a layer in memory. The options name it as ".",
// so that the sandbox's mount table shows no path of the host.
Result<Staged> stage_below_memory(int directory, const std::string& name, Privilege privilege) {
  const UniqueFd memory = TRY(new_file_system("tmpfs", {{"size", "16m"}, {"mode", "0755"}}, 0));
  UniqueFd layers = TRY(stage(memory.get()));
  TRY(make_directory(layers.get(), "upper"));
  TRY(make_directory(layers.get(), "work"));
  if (::fchdir(directory) != 0) return syscall_failure("enter", name);
  const std::string options =
      fmt::format("lowerdir=.,upperdir={0}/upper,workdir={0}/work{1}", kStagingPlace,
                  privilege == Privilege::Rootless ? ",userxattr" : "");
  if (::mount(name.c_str(), kStagingPlace, "overlay", MS_NOSUID, options.c_str()) != 0) {
    return syscall_failure("mount", name);
  }
  return Staged{TRY(open_file(kStagingPlace, O_PATH | O_DIRECTORY)), false, std::move(layers)};
}

// A prepared root is mounted as it is, or below a layer in memory that takes the sandbox's own
// paths.
Result<Staged> stage_prepared_root(const RootTemplate& prepared, const RootSource& source) {
  Staged staged;
  if (source.own_paths.is_empty()) {
    TRY(prepared.mount_on(kStagingPlace));
    staged.root = TRY(open_file(kStagingPlace, O_PATH | O_DIRECTORY));
  } else {
    const UniqueFd tree = TRY(prepared.open_tree());
    staged = TRY(stage_below_memory(tree.get(), "root", source.privilege));
  }
  staged.has_devices = prepared.has_devices();
  return staged;
}

// Makes a root with the host's /usr: from the prepared tree, or in memory if there is none.
Result<Staged> stage_host_root(const RootSource& source) {
  const RootTemplate* prepared = source.prepared;
  Staged staged;
  std::vector<std::string> mounts;
  UniqueFd empty;
  if (prepared != nullptr) empty = TRY(prepared->open_empty_directory());
  auto from_template = prepared != nullptr ? stage_prepared_root(*prepared, source)
                                           : failure(ErrorCode::Unsupported, "no template");
  if (from_template) {
    staged = std::move(*from_template);
    mounts = prepared->mounts();
  } else {
    const UniqueFd mount = TRY(new_file_system(
        "tmpfs", {{"size", "64m"}, {"nr_inodes", "16384"}, {"mode", "0755"}}, MOUNT_ATTR_NOSUID));
    staged.root = TRY(stage(mount.get()));
    mounts = TRY(images::write_host_root(staged.root.get(), images::SharedBy::OneSandbox));
    empty = TRY(open_at(staged.root.get(), "home", O_PATH | O_DIRECTORY));
  }
  TRY(share_directories(source, mounts, staged.root.get(), empty.get()));
  return staged;
}

// The layer in memory takes the mount points that the image may lack.
Result<Staged> stage_image_root(const RootSource& source) {
  const UniqueFd image = TRY(open_file(source.image, O_PATH | O_DIRECTORY));
  auto below = stage_below_memory(image.get(), "image", source.privilege);
  if (!below) return while_doing("image " + source.image, std::move(below).error());
  Staged staged = std::move(*below);
  const UniqueFd& root = staged.root;
  for (const char* name : {"dev", "proc", "tmp", "workspace", "etc"}) {
    TRY(make_directory(root.get(), name));
    // If this were a link, the mount would be attached elsewhere in the image.
    TRY(open_beneath(root.get(), name, O_PATH | O_DIRECTORY, 0, Links::Refuse));
  }
  return staged;
}

Result<Staged> stage_root(const RootSource& source) {
  return source.image.empty() ? stage_host_root(source) : stage_image_root(source);
}

Result<> show_in(const Staged& staged, const RootSource& source) {
  if (!staged.memory) {
    if (source.own_paths.shown.empty())
      return link_project(source.own_paths.project, staged.root.get());
    return failure(
        ErrorCode::Unsupported,
        "directories of this machine cannot be shown at their own paths, because the root "
        "cannot be an overlay here: leave --mount out, and say --toolchains none");
  }
  return show_own_paths(source.own_paths,
                        {staged.root.get(), kStagingPlace, staged.memory.get(), source.privilege});
}

// A user namespace may mount its own /proc only where it can already see one.
Result<> keep_host_proc(int root) {
  const UniqueFd proc = TRY(clone_mount(AT_FDCWD, "/proc", Subtree::Recursive));
  return attach_mount(proc.get(), root, "proc");
}

Result<> become_root(int root) {
  if (::fchdir(root) != 0) return syscall_failure("fchdir");
  // With "." for both, the old root is mounted over the new one, from where it is detached.
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return syscall_failure("pivot_root");
  if (::umount2(".", MNT_DETACH) != 0) return syscall_failure("detach the old root");
  if (::chdir("/") != 0) return syscall_failure("chdir", "/");
  return {};
}

// Init answers on loopback (init/network/name_server.h).
constexpr const char* kResolverSettings = "nameserver 127.0.0.1\n";
// Without "dns", programs of the host's root would ask nobody.
constexpr const char* kNameSources = "passwd: files\ngroup: files\nhosts: files dns\n";

// Images bring their own nsswitch.conf. Their resolv.conf may be missing, or a link to nowhere.
Result<> write_resolver_settings(int root) {
  const UniqueFd etc = TRY(open_beneath(root, "etc", O_PATH | O_DIRECTORY, 0, Links::Refuse));
  if (::unlinkat(etc.get(), "resolv.conf", 0) != 0 && errno != ENOENT) {
    return syscall_failure("remove", "/etc/resolv.conf");
  }
  const UniqueFd file =
      TRY(open_at(etc.get(), "resolv.conf", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
  return write_all(file.get(), kResolverSettings);
}

// Mounts the root with its devices, and leaves nothing else in this mount namespace.
Result<> replace_root(const RootSource& source) {
  const Staged staged = TRY(stage_root(source));
  const int root = staged.root.get();
  if (!source.own_paths.is_empty()) TRY(show_in(staged, source));
  if (source.has_names && staged.memory && !source.image.empty()) {
    TRY(write_resolver_settings(root));
  }
  TRY(staged.has_devices ? bind_devices(root) : mount_devices(root, source.privilege));
  if (source.privilege == Privilege::Rootless) TRY(keep_host_proc(root));
  TRY(become_root(root));
  const UniqueFd whole = TRY(open_file("/", O_PATH | O_DIRECTORY));
  return set_attributes(whole.get(), kReadOnly, Subtree::One);
}

// Keeps mounts made here from the host, and the host's later mounts from here.
Result<> make_mounts_private() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return syscall_failure("make mounts private");
  }
  return {};
}

// The directories of the host that a root is made from.
std::vector<std::string> needed_of_host(const RootSource& source) {
  std::vector<std::string> paths = {"/proc"};
  if (source.privilege == Privilege::Rootless) paths.emplace_back("/dev");
  if (!source.image.empty()) {
    paths.push_back(source.image);
    return paths;
  }
  paths.push_back(source.prepared->path());
  for (const std::string& name : source.prepared->mounts())
    paths.push_back("/" + name);
  return paths;
}

// Files that everybody may read and that describe the host, not the sandbox.
constexpr std::array<const char*, 5> kHiddenProcFiles = {"cmdline", "modules", "kallsyms",
                                                         "config.gz", "interrupts"};
// The kernel shows the keys of all users that the reader's user namespace maps. A sandbox of root
// has a user of its own. A sandbox of a plain user maps that user, and would see their keys.
constexpr std::array<const char*, 2> kKeysOfUsers = {"keys", "key-users"};

Result<> bind_path(const char* source, const std::string& target) {
  if (::mount(source, target.c_str(), nullptr, MS_BIND, nullptr) == 0) return {};
  if (errno == ENOENT) return {};  // this kernel does not have the file
  return syscall_failure("hide", target);
}

Result<> mount_own_proc(Privilege privilege) {
  if (privilege == Privilege::Root) {
    constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    if (::mount("none", "/proc", "proc", kFlags, nullptr) != 0) {
      return syscall_failure("mount", "/proc");
    }
    return {};
  }
  const UniqueFd proc =
      TRY(new_file_system("proc", {}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
  if (::umount2("/proc", MNT_DETACH) != 0) return syscall_failure("detach the host's", "/proc");
  return attach_mount(proc.get(), AT_FDCWD, "/proc");
}

Result<> mount_proc(Privilege privilege, PrivateParts& parts) {
  TRY(mount_own_proc(privilege));
  for (const char* name : kHiddenProcFiles)
    TRY(bind_path("/dev/null", fmt::format("/proc/{}", name)));
  if (privilege == Privilege::Rootless) {
    for (const char* name : kKeysOfUsers)
      TRY(bind_path("/dev/null", fmt::format("/proc/{}", name)));
  }
  if (privilege == Privilege::Rootless) parts.user_counts = TRY(open_user_counts());
  const UniqueFd settings = TRY(clone_mount(AT_FDCWD, "/proc/sys", Subtree::One));
  TRY(set_attributes(settings.get(), MOUNT_ATTR_RDONLY, Subtree::One));
  TRY(attach_mount(settings.get(), AT_FDCWD, "/proc/sys"));
  return bind_path("/dev/.boot_id", "/proc/sys/kernel/random/boot_id");
}

// Mounts the user's directory below the first layer of the sandbox.
Result<> mount_layers(const PrivateRoot& root, int store) {
  TRY(check_layer_marks(store));
  struct stat status {};
  if (::fstat(root.base, &status) != 0) return syscall_failure("stat", "/workspace");
  const std::string work = std::string(kFirstLayer) + kWorkSuffix;
  TRY(make_directory(store, work.c_str(), 0700));
  if (::fchmodat(store, kFirstLayer, (status.st_mode & 0777U) | 0700U, 0) != 0 ||
      ::fchownat(store, work.c_str(), root.owner.user, root.owner.group, 0) != 0) {
    return syscall_failure("own", "/workspace");
  }
  return mount_workspace({store, root.base, {kFirstLayer}}, OldMount::Covered);
}

// As root, the directory's owner is mapped to the sandbox's user if the file system supports it.
Result<Reader> reader_for(const PrivateRoot& root) {
  struct stat status {};
  if (::fstat(root.base, &status) != 0) return syscall_failure("stat", "/workspace");
  const bool is_foreign = root.privilege == Privilege::Root && status.st_uid != root.owner.user;
  return is_foreign ? Reader::DirectoryOwner : Reader::SandboxUser;
}

Result<> begin_workspace(const PrivateRoot& root, PrivateParts& parts) {
  if (root.base < 0) return bind_path("/workspace/workspace", "/workspace");
  parts.why_copied = "as asked for";
  const Reader reader = TRY(reader_for(root));
  if (root.workspace_mode != WorkspaceMode::Copy) {
    auto mounted = reader == Reader::SandboxUser ? mount_layers(root, parts.store.get())
                                                 : failure(ErrorCode::Unsupported, kNoTranslation);
    parts.why_copied = mounted ? "" : mounted.error().message;
    const bool is_final = mounted || mounted.error().code != ErrorCode::Unsupported ||
                          root.workspace_mode == WorkspaceMode::Overlay;
    if (is_final) return mounted;
    if (::chdir("/") != 0) return syscall_failure("chdir", "/");
  }
  parts.copied_base =
      TRY(copy_workspace({parts.store.get(), root.base, root.owner, reader, root.parent}));
  return bind_path("/workspace/workspace", "/workspace");
}

// Mounts one file system for /workspace and /tmp, so that one limit holds for both together.
Result<> mount_scratch(const PrivateRoot& root, PrivateParts& parts) {
  const std::uint64_t inodes = std::max<std::uint64_t>(root.limits.disk_bytes / 4096, 64);
  const std::string options =
      fmt::format("size={},nr_inodes={},mode=0700,uid={},gid={}", root.limits.disk_bytes, inodes,
                  root.owner.user, root.owner.group);
  if (::mount("none", "/workspace", "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return syscall_failure("mount", "/workspace");
  }
  UniqueFd scratch = TRY(open_file("/workspace", O_PATH | O_DIRECTORY));
  TRY(make_directory(scratch.get(), "tmp"));
  TRY(make_directory(scratch.get(), "workspace"));
  if (::fchmodat(scratch.get(), "tmp", 01777, 0) != 0 ||
      ::fchownat(scratch.get(), "tmp", root.owner.user, root.owner.group, 0) != 0 ||
      ::fchownat(scratch.get(), "workspace", root.owner.user, root.owner.group, 0) != 0) {
    return syscall_failure("own", "/workspace");
  }
  TRY(bind_path("/workspace/tmp", "/tmp"));
  if (!root.project_in_tmp.empty()) {
    const UniqueFd whole = TRY(open_file("/", O_PATH | O_DIRECTORY));
    TRY(link_project(root.project_in_tmp, whole.get()));
  }
  parts.store = std::move(scratch);
  return begin_workspace(root, parts);
}

// Makes the target directory if it is below /workspace or /tmp; elsewhere it must exist.
Result<> place_mount(const PlacedMount& placed) {
  for (const char* scratch : {"/workspace", "/tmp"}) {
    if (placed.target == scratch || !is_at_or_below(placed.target, scratch)) continue;
    std::error_code error;
    std::filesystem::create_directories(placed.target, error);
    if (error) return syscall_failure(error.value(), "make", placed.target);
  }
  auto place = open_beneath(AT_FDCWD, placed.target, O_PATH | O_DIRECTORY, 0, Links::Follow);
  if (!place) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("unsafe-mount {0}: there is no directory {0} in the sandbox; use a "
                               "path below /workspace or /tmp, or /opt or /home",
                               placed.target));
  }
  return attach_mount(placed.mount, place->get(), "");
}

// Mounts a file with this text over a file of the root, which sandboxes share. It lies on the
// scratch file system, where no name leads to it.
Result<> show_text(int store, const char* path, std::string_view text) {
  constexpr const char* kName = "text";
  {
    const UniqueFd file =
        TRY(open_at(store, kName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
    TRY(write_all(file.get(), text));
  }
  const UniqueFd mount = TRY(clone_mount(store, kName, Subtree::One));
  TRY(set_attributes(mount.get(), kReadOnly | MOUNT_ATTR_NOEXEC, Subtree::One));
  TRY(attach_mount(mount.get(), AT_FDCWD, path));
  if (::unlinkat(store, kName, 0) != 0) return syscall_failure("remove", kName);
  return {};
}

Result<> show_resolver_settings(int store) {
  TRY(show_text(store, "/etc/resolv.conf", kResolverSettings));
  return show_text(store, "/etc/nsswitch.conf", kNameSources);
}

Result<> mount_terminals() {
  if (::mount("none", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,ptmxmode=0666,mode=0620,max=64") != 0) {
    return syscall_failure("mount", "/dev/pts");
  }
  return {};
}

}  // namespace

Result<> check_image(const std::string& image) {
  auto opened = open_file(image, O_PATH | O_DIRECTORY);
  if (!opened) {
    return failure(ErrorCode::NotFound,
                   fmt::format("image {}: {}; give a directory or a .tar that holds a root file "
                               "system",
                               image, opened.error().message));
  }
  for (const char* name : {"proc", "sys", "dev", "etc", "tmp", "workspace"}) {
    struct stat status {};
    if (::fstatat(opened->get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISDIR(status.st_mode)) {
      return failure(
          ErrorCode::InvalidArgument,
          fmt::format("image {}: /{} is not a directory; make it one in the image", image, name));
    }
  }
  return {};
}

Result<> enter_mount_template(const RootSource& source, MountTemplate kind) {
  ::umask(022);  // as below
  TRY(make_mounts_private());
  // Opened before the mount at the staging place covers what is below it.
  std::vector<PlacedMount> places;
  std::vector<UniqueFd> mounts;
  for (std::string& path : needed_of_host(source)) {
    const UniqueFd directory = TRY(open_file(path, O_PATH | O_DIRECTORY));
    mounts.push_back(TRY(clone_mount(directory.get(), "", Subtree::Recursive)));
    places.push_back({mounts.back().get(), std::move(path)});
  }
  const UniqueFd memory = TRY(new_file_system("tmpfs", {{"size", "64k"}, {"mode", "0755"}}, 0));
  const UniqueFd root = TRY(stage(memory.get()));
  TRY(make_directory(root.get(), kStagingPlace + 1));
  for (const PlacedMount& placed : places) {
    std::error_code error;
    const std::string path = kStagingPlace + placed.target;
    std::filesystem::create_directories(path, error);
    if (error) return syscall_failure(error.value(), "make", path);
    TRY(attach_mount(placed.mount, AT_FDCWD, path.c_str()));
  }
  TRY(become_root(root.get()));
  // If this fails, sandboxes make their roots in memory, without a template.
  if (source.image.empty()) TRY(source.prepared->mount_on(kStagingPlace));
  if (source.image.empty() && ::umount2(kStagingPlace, MNT_DETACH) != 0) {
    return syscall_failure("detach", kStagingPlace);
  }
  return kind == MountTemplate::WithRoot ? replace_root(source) : Result<>();
}

Result<> enter_own_root(const RootSource& source) {
  ::umask(022);  // whatever the caller's: the sandbox's user has to get in
  if (source.is_staged) return {};
  TRY(make_mounts_private());
  return replace_root(source);
}

Result<PrivateParts> mount_private_parts(const PrivateRoot& root) {
  PrivateParts parts;
  TRY(mount_proc(root.privilege, parts));
  TRY(mount_scratch(root, parts));
  TRY(mount_terminals());
  if (root.has_names) TRY(show_resolver_settings(parts.store.get()));
  for (const PlacedMount& placed : root.unsafe_mounts)
    TRY(place_mount(placed));
  return parts;
}

}  // namespace nutshell::native
