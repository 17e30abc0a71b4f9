#include "backends/native/host_etc.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

#include "backends/native/mounts.h"
#include "base/defer.h"
#include "base/file.h"
#include "base/random_id.h"

namespace nutshell::native {
namespace {

struct File {
  const char* name;
  const char* text;
};
constexpr std::array<File, 8> kFiles = {{
    {"passwd",
     "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
     "sandbox:x:1000:1000:sandbox:/workspace:/bin/bash\n"
     "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"},
    {"hostname", "nutshell\n"},
    {"hosts", "127.0.0.1 localhost nutshell\n::1 localhost nutshell\n"},
    {"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"},
    {"resolv.conf", ""},
    {"shells", "/bin/sh\n/bin/bash\n"},
    {"profile", "export PATH HOME\n"},
}};

// Public by nature: links between programs, the linker's index, certificates of public
// authorities, names of ports.
constexpr std::array<const char*, 8> kPublicEntries = {"alternatives", "ld.so.cache", "ld.so.conf",
                                                       "ld.so.conf.d", "ssl/certs",   "services",
                                                       "protocols",    "localtime"};
constexpr const char* kJavaEntries = "/etc/java-*";  // /usr/lib/jvm links into these

Result<> write_one(int etc, const char* name, std::string_view text) {
  const UniqueFd file = TRY(open_at(etc, name, O_CREAT | O_EXCL | O_WRONLY, 0644));
  return write_all(file.get(), text);
}

// Bound, not copied: a mount costs less than the pages of a copy.
Result<> share_mount(int etc, const char* name, const char* source) {
  const UniqueFd tree = TRY(clone_mount(AT_FDCWD, source, Subtree::Recursive));
  TRY(set_attributes(tree.get(), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
                     Subtree::Recursive));
  return attach_mount(tree.get(), etc, name);
}

Result<> share(int etc, const char* name) {
  const std::string source = std::string("/etc/") + name;
  struct stat status {};
  if (::stat(source.c_str(), &status) != 0) return {};  // this host has none
  if (S_ISDIR(status.st_mode)) {
    if (::mkdirat(etc, name, 0755) != 0) return syscall_failure("mkdir", name);
    return share_mount(etc, name, source.c_str());
  }
  if (!S_ISREG(status.st_mode)) return {};
  TRY(write_one(etc, name, ""));
  std::error_code error;
  const auto real = std::filesystem::canonical(source, error);  // localtime is a link
  return share_mount(etc, name, error ? source.c_str() : real.c_str());
}

Result<> share_java(int etc) {
  glob_t found{};
  const Defer freed([&] { ::globfree(&found); });
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a process that clones sandboxes has one thread
  if (::glob(kJavaEntries, GLOB_NOSORT, nullptr, &found) != 0) return {};
  for (std::size_t i = 0; i < found.gl_pathc; ++i) {
    TRY(share(etc, found.gl_pathv[i] + std::string_view("/etc/").size()));
  }
  return {};
}

}  // namespace

Result<> write_host_etc(int root) {
  const UniqueFd etc = TRY(open_at(root, "etc", O_PATH | O_DIRECTORY));
  for (const File& file : kFiles)
    TRY(write_one(etc.get(), file.name, file.text));
  TRY(write_one(etc.get(), "machine-id", random_id(32) + "\n"));
  if (::mkdirat(etc.get(), "ssl", 0755) != 0) return syscall_failure("mkdir", "etc/ssl");
  for (const char* name : kPublicEntries)
    TRY(share(etc.get(), name));
  return share_java(etc.get());
}

}  // namespace nutshell::native
