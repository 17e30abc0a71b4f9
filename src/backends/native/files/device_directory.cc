#include "backends/native/files/device_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>

#include "backends/native/files/mounts.h"
#include "base/file.h"
#include "base/random_id.h"

namespace nutshell::native {
namespace {

constexpr std::uint64_t kDeviceAttributes =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;

struct Device {
  const char* name;
  unsigned major;
  unsigned minor;
};
constexpr std::array<Device, 6> kDevices = {{{"null", 1, 3},
                                             {"zero", 1, 5},
                                             {"full", 1, 7},
                                             {"random", 1, 8},
                                             {"urandom", 1, 9},
                                             {"tty", 5, 0}}};

struct Link {
  const char* name;
  const char* target;
};
// Shared memory objects live in /tmp, so that the scratch limit bounds them too.
constexpr std::array<Link, 6> kLinks = {{{"fd", "/proc/self/fd"},
                                         {"stdin", "/proc/self/fd/0"},
                                         {"stdout", "/proc/self/fd/1"},
                                         {"stderr", "/proc/self/fd/2"},
                                         {"ptmx", "pts/ptmx"},
                                         {"shm", "/tmp"}}};

// A process in a user namespace may not make device nodes, so it binds the host's.
Result<> bind_device(int directory, const Device& device) {
  TRY(open_at(directory, device.name, O_CREAT | O_EXCL | O_WRONLY, 0666));
  const std::string source = fmt::format("/dev/{}", device.name);
  const UniqueFd tree = TRY(clone_mount(AT_FDCWD, source.c_str(), Subtree::One));
  TRY(set_attributes(tree.get(), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, Subtree::One));
  return attach_mount(tree.get(), directory, device.name);
}

Result<> make_device(int directory, const Device& device) {
  if (::mknodat(directory, device.name, S_IFCHR | 0666, makedev(device.major, device.minor)) != 0) {
    return syscall_failure("mknod", device.name);
  }
  if (::fchmodat(directory, device.name, 0666, 0) != 0)
    return syscall_failure("chmod", device.name);
  return {};
}

// Writes an id that is mounted over the host's boot id, by which a sandbox could tell hosts apart.
Result<> write_boot_id(int directory) {
  const std::string id = fmt::format("{}-{}-4{}-a{}-{}\n", random_id(8), random_id(4), random_id(3),
                                     random_id(3), random_id(12));
  const UniqueFd file = TRY(open_at(directory, ".boot_id", O_CREAT | O_EXCL | O_WRONLY, 0444));
  return write_all(file.get(), id);
}

Result<> add_links(int directory) {
  for (const Link& link : kLinks) {
    if (::symlinkat(link.target, directory, link.name) != 0) {
      return syscall_failure("link", link.name);
    }
  }
  if (::mkdirat(directory, "pts", 0755) != 0) return syscall_failure("mkdir", "dev/pts");
  return write_boot_id(directory);
}

}  // namespace

Result<> fill_device_directory(int directory) {
  for (const Device& device : kDevices)
    TRY(make_device(directory, device));
  return add_links(directory);
}

Result<> mount_devices(int root, Privilege privilege) {
  const UniqueFd mount =
      TRY(new_file_system("tmpfs", {{"size", "64k"}, {"nr_inodes", "64"}, {"mode", "0755"}},
                          MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  TRY(attach_mount(mount.get(), root, "dev"));
  if (privilege == Privilege::Root) {
    TRY(fill_device_directory(mount.get()));
  } else {
    for (const Device& device : kDevices)
      TRY(bind_device(mount.get(), device));
    TRY(add_links(mount.get()));
  }
  return set_attributes(mount.get(), kDeviceAttributes, Subtree::One);
}

Result<> bind_devices(int root) {
  const UniqueFd mount = TRY(clone_mount(root, "dev", Subtree::One));
  TRY(set_attributes(mount.get(), kDeviceAttributes, Subtree::One));
  return attach_mount(mount.get(), root, "dev");
}

}  // namespace nutshell::native
