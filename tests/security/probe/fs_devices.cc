// FS: device nodes, kernel files, read-only places and descriptors left open.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "probe.h"

namespace nutshell::probe {
namespace {

Verdict create_in_host_places(const Arguments& arguments) {
  Arguments places = {"/", "/etc", "/usr", "/usr/bin", "/home", "/root", "/var", "/proc", "/sys"};
  places.insert(places.end(), arguments.begin(), arguments.end());
  Findings findings;
  for (const auto& place : places) {
    const std::string path =
        place + (place == "/" ? "" : "/") + "nutshell-probe-" + std::to_string(::getpid());
    Verdict verdict = try_open(path, O_WRONLY | O_CREAT | O_EXCL);
    if (verdict.outcome == Outcome::Open) ::unlink(path.c_str());
    findings.add(std::move(verdict));
  }
  return findings.verdict();
}

// The host answers ESTALE to an invented handle, which shows that handles may be opened.
Verdict open_by_handle(const Arguments&) {
  const Descriptor root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Findings findings;
  for (const std::uint32_t inode : {2U, 64U, 128U, 256U}) {
    alignas(file_handle) std::array<unsigned char, sizeof(file_handle) + 8> bytes{};
    auto* handle = reinterpret_cast<file_handle*>(bytes.data());
    handle->handle_bytes = 8;
    handle->handle_type = 1;
    std::memcpy(&handle->f_handle[0], &inode, sizeof(inode));
    findings.add(try_call(
        "open_by_handle_at inode " + std::to_string(inode),
        [&] { return ::syscall(SYS_open_by_handle_at, root.get(), handle, O_RDONLY); },
        let_through({ESTALE, EOPNOTSUPP})));
  }
  return findings.verdict();
}

Verdict make_device(const std::string& path, mode_t kind, dev_t device) {
  const std::string name =
      path + " " + std::to_string(::major(device)) + ":" + std::to_string(::minor(device));
  if (::mknod(path.c_str(), kind | 0666U, device) != 0) {
    return judge("mknod " + name, -1, errno, path_rules());
  }
  Verdict verdict = try_open(path, O_RDONLY | O_NONBLOCK);
  ::unlink(path.c_str());
  if (verdict.outcome != Outcome::Refused) return opened("mknod " + name);
  return verdict;
}

Verdict make_block_device(const Arguments&) {
  Findings findings;
  const ScratchPath node("disk");
  for (const unsigned major : {8U, 253U, 254U, 259U}) {
    findings.add(make_device(node.get(), S_IFBLK, ::makedev(major, 0)));
  }
  return findings.verdict();
}

Verdict make_memory_device(const Arguments&) {
  Findings findings;
  for (const auto* directory : {"/workspace", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/run"}) {
    if (::access(directory, W_OK) != 0) continue;
    const std::string path = std::string(directory) + "/nutshell-probe-mem";
    findings.add(make_device(path, S_IFCHR, ::makedev(1, 1)));
  }
  return findings.verdict();
}

Verdict open_devices(const Arguments&) {
  Findings findings;
  for (const auto* name :
       {"mem",     "kmem",      "port",        "kmsg",           "kvm",         "fuse",
        "net/tun", "vhost-net", "vhost-vsock", "loop-control",   "loop0",       "sda",
        "vda",     "nvme0n1",   "dm-0",        "mapper/control", "userfaultfd", "uinput",
        "vsock",   "hwrng",     "cpu/0/msr",   "btrfs-control",  "rfkill"}) {
    findings.add(try_open(std::string("/dev/") + name, O_RDONLY | O_NONBLOCK));
  }
  for (const auto& name : entries_of("/dev")) {
    for (const auto* prefix : {"sd", "vd", "nvme", "dm-", "vhost", "loop", "md", "xvd"}) {
      if (!name.starts_with(prefix)) continue;
      findings.add(try_open("/dev/" + name, O_RDONLY | O_NONBLOCK, path_rules({ENXIO})));
    }
  }
  return findings.verdict();
}

bool has_addresses(const std::string& text) {
  std::size_t line = 0;
  while (line < text.size()) {
    if (text.find_first_not_of('0', line) < text.find(' ', line)) return true;
    const auto end = text.find('\n', line);
    if (end == std::string::npos) break;
    line = end + 1;
  }
  return false;
}

Verdict read_kernel_memory(const Arguments&) {
  Findings findings;
  for (const auto* name : {"kcore", "vmcore", "kpagecount", "kpageflags", "kpagecgroup"}) {
    const auto path = std::string("/proc/") + name;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::array<char, 8> bytes{};
    if (!file.is_open()) {
      findings.add(judge(path, -1, errno, path_rules()));
    } else {
      findings.add(::read(file.get(), bytes.data(), bytes.size()) > 0 ? opened(path)
                                                                      : refused(path + " empty"));
    }
  }
  const auto symbols = read_text("/proc/kallsyms");
  findings.add(symbols && has_addresses(*symbols) ? opened("kallsyms shows addresses")
                                                  : refused("kallsyms shows no address"));
  return findings.verdict();
}

Verdict extra_descriptors(const Arguments&) {
  Findings findings;
  for (int number = 3; number < 1024; ++number) {
    if (::fcntl(number, F_GETFD) < 0) continue;
    const std::string text = std::to_string(number);
    findings.add(opened("descriptor " + text + " -> " + link_target("/proc/self/fd/" + text)));
  }
  findings.add(refused("only 0, 1 and 2 are open"));
  return findings.verdict();
}

// ETXTBSY means that writing is allowed and fails only because the program is running.
Verdict overwrite_init(const Arguments&) {
  Rules rules = path_rules();
  rules.let_through = {ETXTBSY};
  Findings findings;
  for (const pid_t process : {1, ::getppid()}) {
    if (process == 0) continue;
    findings.add(try_open("/proc/" + std::to_string(process) + "/exe", O_WRONLY, rules));
  }
  return findings.verdict();
}

Verdict remount_writable(const char* target, unsigned long kept) {
  const int result = ::mount(nullptr, target, nullptr, MS_REMOUNT | MS_BIND | kept, nullptr);
  Verdict verdict = judge(std::string("remount ") + target, result, errno);
  if (result == 0) {
    (void)::mount(nullptr, target, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kept, nullptr);
  }
  return verdict;
}

// MNT_EXPIRE only marks a mount, so the call does no harm if it is allowed.
Verdict undo_mounts(const Arguments&) {
  Findings findings;
  for (const auto* target : {"/", "/usr", "/etc", "/proc", "/proc/sys", "/sys"}) {
    struct statvfs about {};
    if (::statvfs(target, &about) != 0 || (about.f_flag & ST_RDONLY) == 0) continue;
    const unsigned long kept = about.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC);
    findings.add(in_child([&] { return remount_writable(target, kept); }));
  }
  for (const auto* target : {"/", "/proc", "/dev"}) {
    findings.add(try_call(
        std::string("umount2 ") + target, [&] { return ::umount2(target, MNT_EXPIRE); },
        let_through({EAGAIN, EBUSY, EINVAL})));
  }
  return findings.verdict();
}

// EINVAL means that the user namespace does not map the new owner.
Verdict overlay_tricks(const Arguments&) {
  const ScratchPath file("layer");
  ::close(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const Rules no_such_owner{.refusals = {EPERM, EACCES, ENOSYS, EINVAL}};
  Findings findings;
  findings.add(try_call("trusted.overlay xattr", [&] {
    return ::setxattr(file.c_str(), "trusted.overlay.opaque", "y", 1, 0);
  }));
  findings.add(try_call("security.capability xattr", [&] {
    const std::array<unsigned, 5> capability = {0x02000001U, 0x2000U, 0, 0, 0};
    return ::setxattr(file.c_str(), "security.capability", capability.data(), 20, 0);
  }));
  findings.add(try_call(
      "chown 0:0", [&] { return ::chown(file.c_str(), 0, 0); }, no_such_owner));
  // Sets the mode that it has: a change of owner, even to itself, would clear the bit.
  struct stat about {};
  const mode_t mode = ::stat("/usr/bin/su", &about) == 0 ? about.st_mode & 07777U : 04755U;
  findings.add(try_call(
      "chmod of a set-user-id file", [&] { return ::chmod("/usr/bin/su", mode); }, path_rules()));
  return findings.verdict();
}

Verdict map_for_writing(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return judge("open " + path, -1, errno, path_rules());
  void* bytes = ::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  return judge("mmap shared", bytes == MAP_FAILED ? -1 : 0, errno, path_rules());
}

Verdict change_read_only(const Arguments& arguments) {
  const std::string& path = arguments[0];
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return unexpected(path + " " + error_name(errno));
  const std::string aside = path + ".nutshell-probe";
  const timespec keep{.tv_sec = 0, .tv_nsec = UTIME_NOW};
  const std::array<timespec, 2> times = {keep, keep};
  const auto rules = path_rules();
  Findings findings;
  findings.add(try_open(path, O_WRONLY));
  findings.add(try_open(path, O_RDWR));
  findings.add(try_open(parent_of(path), O_TMPFILE | O_WRONLY, rules));
  findings.add(map_for_writing(path));
  findings.add(try_call(
      "truncate", [&] { return ::truncate(path.c_str(), about.st_size); }, rules));
  findings.add(try_call(
      "utimensat", [&] { return ::utimensat(AT_FDCWD, path.c_str(), times.data(), 0); }, rules));
  findings.add(try_call(
      "setxattr", [&] { return ::setxattr(path.c_str(), "user.probe", "1", 1, 0); }, rules));
  const int moved = ::rename(path.c_str(), aside.c_str());
  findings.add(judge("rename", moved, errno, rules));
  if (moved == 0) (void)::rename(aside.c_str(), path.c_str());
  return findings.verdict();
}

}  // namespace

Probes file_device_probes() {
  return {
      {"FS-03", "create-on-host", "create files in /, /etc, /usr, home and others", "[DIRECTORY]",
       create_in_host_places},
      {"FS-08", "file-handles", "open inodes by number with open_by_handle_at", "", open_by_handle},
      {"FS-13", "block-device", "make and open a node of the root disk", "", make_block_device},
      {"FS-14", "memory-device", "make and open /dev/mem in writable places", "",
       make_memory_device},
      {"FS-15", "devices", "open disks, kvm, fuse, tun, kmsg and others", "", open_devices},
      {"FS-16", "kernel-memory", "read kcore, page tables' files, kernel addresses", "",
       read_kernel_memory},
      {"FS-19", "descriptors", "find descriptors left open from outside", "", extra_descriptors},
      {"FS-22", "overwrite-init", "open the programs of pid 1 and the parent for writing", "",
       overwrite_init},
      {"FS-26", "remount", "make read-only mounts writable, take mounts away", "", undo_mounts},
      {"FS-27", "overlay", "overlay and capability xattrs, owners, set-user-id bits", "",
       overlay_tricks},
      {"FS-28", "read-only", "change a file on a read-only mount in eight ways", "FILE",
       change_read_only},
  };
}

}  // namespace nutshell::probe
