#include "images/host_etc.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

#include "base/copy_tree.h"
#include "base/defer.h"
#include "base/file.h"
#include "base/random_id.h"

namespace nutshell::images {
namespace {

struct File {
  const char* name;
  const char* text;
};
constexpr std::array<File, 8> kFiles = {{
    {"passwd",
     "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
     "sandbox:x:1000:1000:sandbox:/tmp/home:/bin/bash\n"
     "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"},
    {"hostname", "nutshell\n"},
    {"hosts", "127.0.0.1 localhost nutshell\n::1 localhost nutshell\n"},
    // Without "dns" a name is unknown at once. With it, the lookup ends as "try again later", and
    // clients such as npm do so for a minute.
    {"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
    {"resolv.conf", ""},
    {"shells", "/bin/sh\n/bin/bash\n"},
    {"profile", "export PATH HOME\n"},
}};

// Public files: links between programs, the linker's index, certificates of public authorities,
// names of ports. Files are copied, as are small directories that many sandboxes share, because
// each mount costs time at every start. Other directories are mounted.
constexpr std::array<const char*, 6> kCopiedFiles = {"ld.so.cache", "ld.so.conf", "services",
                                                     "protocols",   "localtime",  "os-release"};
constexpr const char* kAlternatives = "alternatives";  // links, hundreds of them
constexpr const char* kLinkerSettings = "ld.so.conf.d";
constexpr const char* kCertificates = "ssl/certs";
constexpr const char* kCertificateBundle = "ssl/certs/ca-certificates.crt";
constexpr std::array<const char*, 3> kCopiedDirectories = {kAlternatives, kLinkerSettings,
                                                           kCertificates};
constexpr const char* kJavaEntries = "/etc/java-*";  // /usr/lib/jvm links into these
constexpr const char* kJavaHome = "/usr/lib/jvm";
constexpr std::size_t kMostFileBytes = 16U << 20U;

std::string host_path(const char* name) {
  return std::string("/etc/") + name;
}

Result<> write_one(int etc, const char* name, std::string_view text) {
  const UniqueFd file = TRY(open_at(etc, name, O_CREAT | O_EXCL | O_WRONLY, 0644));
  return write_all(file.get(), text);
}

Result<> copy_file(int etc, const char* name) {
  struct stat status {};
  const std::string source = host_path(name);
  if (::stat(source.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return write_one(etc, name, TRY(read_file(source, kMostFileBytes)));
}

Result<> copy_directory(int etc, const char* name) {
  const UniqueFd from(::open(host_path(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!from) return {};  // this host has none
  if (::mkdirat(etc, name, 0755) != 0) return syscall_failure("mkdir", name);
  const UniqueFd to = TRY(open_at(etc, name, O_RDONLY | O_DIRECTORY));
  return copy_tree(from.get(), to.get(), Unreadable::LeftOut);
}

Result<bool> make_mount_point(int etc, const char* name) {
  struct stat status {};
  if (::stat(host_path(name).c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  if (::mkdirat(etc, name, 0755) != 0) return syscall_failure("mkdir", name);
  return true;
}

std::vector<std::string> java_entries() {
  std::vector<std::string> names;
  glob_t found{};
  const Defer freed([&] { ::globfree(&found); });
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a process that clones sandboxes has one thread
  if (::glob(kJavaEntries, 0, nullptr, &found) != 0) return names;
  for (std::size_t i = 0; i < found.gl_pathc; ++i) {
    names.emplace_back(found.gl_pathv[i] + std::string_view("/etc/").size());
  }
  return names;
}

std::string state_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "-";
  return fmt::format("{:x}.{:x}.{:x}.{:x}.{:x} ", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

// Identifies the directory and the files in it, which may be overwritten in place.
std::string state_of_files(const std::string& directory) {
  std::string state = state_of(directory);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    state += state_of(entry.path());
  return state;
}

}  // namespace

Result<std::vector<std::string>> write_host_etc(int root, SharedBy sharers) {
  const UniqueFd etc = TRY(open_at(root, "etc", O_PATH | O_DIRECTORY));
  for (const File& file : kFiles)
    TRY(write_one(etc.get(), file.name, file.text));
  TRY(write_one(etc.get(), "machine-id", random_id(32) + "\n"));
  for (const char* name : kCopiedFiles)
    TRY(copy_file(etc.get(), name));
  if (::mkdirat(etc.get(), "ssl", 0755) != 0) return syscall_failure("mkdir", "etc/ssl");
  std::vector<std::string> directories;
  for (const char* name : kCopiedDirectories) {
    if (sharers == SharedBy::ManySandboxes) {
      TRY(copy_directory(etc.get(), name));
    } else {
      directories.emplace_back(name);
    }
  }
  for (std::string& name : java_entries())
    directories.push_back(std::move(name));
  std::vector<std::string> mounted;
  for (const std::string& name : directories) {
    if (TRY(make_mount_point(etc.get(), name.c_str()))) mounted.push_back(name);
  }
  return mounted;
}

std::string host_etc_state() {
  std::string state;
  for (const char* name : kCopiedFiles)
    state += state_of(host_path(name));
  state += state_of(host_path(kAlternatives)) + state_of_files(host_path(kLinkerSettings));
  state += state_of(host_path(kCertificates)) + state_of(host_path(kCertificateBundle));
  return state + state_of(kJavaHome);
}

}  // namespace nutshell::images
