#include "images/default_root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/beneath.h"
#include "base/file.h"
#include "images/elf_needs.h"

namespace nutshell::images {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostProgramBytes = 64U << 20U;

// Paths in the image; packages of some releases lack the first "usr".
constexpr const char* kPrograms[] = {"usr/bin/bash",
                                     "usr/bin/git",
                                     "usr/bin/curl",
                                     "usr/bin/jq",
                                     "usr/bin/rg",
                                     "usr/bin/busybox",
                                     "usr/lib/git-core/git-remote-http",
                                     "usr/lib/git-core/git-submodule",
                                     "usr/lib/git-core/git-sh-setup",
                                     "usr/lib/git-core/git-sh-i18n",
                                     "usr/lib/git-core/git-merge-one-file"};

// The names under which busybox is linked.
constexpr const char* kApplets[] = {
    "[",        "ar",       "awk",      "base64",    "basename",  "bc",      "bunzip2",
    "bzip2",    "cat",      "chmod",    "clear",     "cmp",       "cp",      "cpio",
    "cut",      "date",     "dc",       "dd",        "df",        "diff",    "dirname",
    "dos2unix", "du",       "echo",     "ed",        "env",       "expand",  "expr",
    "false",    "find",     "fold",     "free",      "getopt",    "grep",    "groups",
    "gunzip",   "gzip",     "head",     "hexdump",   "hostname",  "id",      "kill",
    "killall",  "less",     "ln",       "ls",        "lzcat",     "md5sum",  "mkdir",
    "mkfifo",   "mktemp",   "more",     "mv",        "nc",        "nl",      "nproc",
    "od",       "paste",    "patch",    "pidof",     "printf",    "ps",      "pwd",
    "readlink", "realpath", "renice",   "reset",     "rev",       "rm",      "rmdir",
    "sed",      "seq",      "sha1sum",  "sha256sum", "sha512sum", "shred",   "shuf",
    "sleep",    "sort",     "stat",     "strings",   "stty",      "sync",    "tac",
    "tail",     "tar",      "tee",      "test",      "time",      "timeout", "top",
    "touch",    "tr",       "true",     "truncate",  "tty",       "uname",   "uncompress",
    "unexpand", "uniq",     "unix2dos", "unlink",    "unlzma",    "unxz",    "unzip",
    "uptime",   "usleep",   "uudecode", "uuencode",  "vi",        "watch",   "wc",
    "which",    "who",      "whoami",   "xargs",     "xxd",       "xz",      "xzcat",
    "yes",      "zcat"};

struct Link {
  const char* name;
  const char* target;
};
// git starts itself by these names, for example to clone a local directory.
constexpr Link kLinks[] = {{"bin", "usr/bin"},
                           {"sbin", "usr/bin"},
                           {"lib", "usr/lib"},
                           {"lib64", "usr/lib64"},
                           {"usr/sbin", "bin"},
                           {"usr/bin/sh", "bash"},
                           {"usr/bin/git-upload-pack", "git"},
                           {"usr/bin/git-receive-pack", "git"},
                           {"usr/bin/git-upload-archive", "git"},
                           {"usr/lib/git-core/git", "../../bin/git"},
                           {"usr/lib/git-core/git-remote-https", "git-remote-http"},
                           {"etc/mtab", "/proc/self/mounts"}};

struct Text {
  const char* name;
  const char* text;
};
constexpr Text kTexts[] = {
    {"etc/passwd",
     "root:x:0:0:root:/root:/bin/bash\nsandbox:x:1000:1000:sandbox:/tmp/home:/bin/bash\n"
     "nobody:x:65534:65534:nobody:/:/bin/false\n"},
    {"etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"},
    {"etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
    {"etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"},
    {"etc/os-release",
     "NAME=\"Nutshell default image\"\nID=nutshell\nID_LIKE=debian\nPRETTY_NAME=\"Nutshell default "
     "image, of Debian packages\"\n"}};

class DefaultRoot {
 public:
  DefaultRoot(const fs::path& files, const fs::path& root) : files_(files), root_(root) {}

  Result<> make() {
    TRY(make_directories());
    for (const char* program : kPrograms)
      TRY(add_program(program));
    for (const Link& link : kLinks)
      TRY(add_link(link.name, link.target));
    for (const char* applet : kApplets)
      TRY(add_link(fmt::format("usr/bin/{}", applet), "busybox"));
    for (const Text& text : kTexts)
      TRY(write_file(root_ / text.name, text.text));
    TRY(add_templates());
    TRY(add_licences());
    return add_certificates();
  }

 private:
  Result<> make_directories() {
    std::error_code error;
    for (const char* name :
         {"usr/bin", "usr/lib64", "usr/lib/git-core", "usr/local/bin", "etc/ssl/certs", "dev",
          "proc", "sys", "run", "root", "home", "var/tmp", "workspace", "tmp", "opt"}) {
      fs::create_directories(root_ / name, error);
      if (error) return syscall_failure(error.value(), "mkdir", name);
    }
    for (const char* name : {"tmp", "var/tmp"}) {
      if (::chmod((root_ / name).c_str(), 01777) != 0) return syscall_failure("chmod", name);
    }
    return {};
  }

  Result<> add_link(const std::string& name, const std::string& target) {
    if (::symlink(target.c_str(), (root_ / name).c_str()) != 0)
      return syscall_failure("make link", name);
    return {};
  }

  // Some packages lack the first "usr". Their links lead only to their own files.
  [[nodiscard]] Result<std::string> read(const std::string& name) const {
    const UniqueFd files = TRY(open_file(files_, O_PATH | O_DIRECTORY));
    for (const std::string& place : {name, name.substr(name.starts_with("usr/") ? 4 : 0)}) {
      const auto file = open_beneath(files.get(), place, O_RDONLY, 0, Links::Confine);
      if (file) return read_all(file->get(), kMostProgramBytes);
    }
    return failure(ErrorCode::NotFound, fmt::format("the packages have no /{}", name));
  }

  // A library lies in the directory of lib/ that is named after the machine's architecture.
  [[nodiscard]] Result<std::string> find_library(const std::string& name) const {
    if (name.find('/') != std::string::npos)
      return failure(ErrorCode::InvalidArgument, fmt::format("library '{}' is a path", name));
    for (const char* lib : {"usr/lib", "lib"}) {
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(files_ / lib, error)) {
        const std::string triplet = entry.path().filename().native();
        if (triplet.find("-linux-") != std::string::npos && fs::exists(entry.path() / name, error))
          return fmt::format("usr/lib/{}/{}", triplet, name);
      }
    }
    return failure(ErrorCode::NotFound, fmt::format("the packages have no {}", name));
  }

  Result<> put(const std::string& name, std::string_view bytes, unsigned mode) {
    std::error_code error;
    fs::create_directories((root_ / name).parent_path(), error);
    TRY(write_file(root_ / name, bytes));
    if (::chmod((root_ / name).c_str(), mode) != 0) return syscall_failure("chmod", name);
    return {};
  }

  // Adds the file with all libraries that it needs, directly or not.
  Result<> add_program(const std::string& name) {
    if (!added_.insert(name).second) return {};
    const std::string bytes = TRY(read(name));
    TRY(put(name, bytes, 0755));
    if (!is_elf(bytes)) return {};
    const ElfNeeds needs = TRY(read_elf_needs(bytes));
    for (const std::string& library : needs.libraries) {
      if (!library.starts_with("ld-linux")) TRY(add_program(TRY(find_library(library))));
    }
    if (!needs.interpreter.empty()) TRY(add_interpreter(needs.interpreter));
    return {};
  }

  // "/lib64/ld-linux-x86-64.so.2" in a root where /lib64 is a link to usr/lib64.
  Result<> add_interpreter(const std::string& path) {
    const std::string name = "usr" + path;
    if (!added_.insert(name).second) return {};
    return put(name, TRY(read(name)), 0755);
  }

  Result<> add_templates() {
    std::error_code error;
    fs::create_directories(root_ / "usr/share/git-core", error);
    fs::copy(files_ / "usr/share/git-core/templates", root_ / "usr/share/git-core/templates",
             fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
    if (error) return syscall_failure(error.value(), "copy", "git's templates");
    return {};
  }

  // Copies the licences of the packages.
  Result<> add_licences() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(files_ / "usr/share/doc", error)) {
      const fs::path text = entry.path() / "copyright";
      if (!fs::is_regular_file(fs::symlink_status(text, error))) continue;
      const std::string package = entry.path().filename().native();
      TRY(put("usr/share/doc/" + package + "/copyright", TRY(read_file(text)), 0644));
    }
    return {};
  }

  Result<> add_certificates() {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry :
         fs::directory_iterator(files_ / "usr/share/ca-certificates/mozilla", error)) {
      if (entry.path().extension() == ".crt") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    if (files.empty())
      return failure(ErrorCode::NotFound, "the packages have no certificates of authorities");
    std::string bundle;
    for (const fs::path& file : files)
      bundle += TRY(read_file(file));
    return put("etc/ssl/certs/ca-certificates.crt", bundle, 0644);
  }

  const fs::path& files_;
  const fs::path& root_;
  std::set<std::string> added_;
};

}  // namespace

Result<> make_default_root(const fs::path& files, const fs::path& root) {
  return DefaultRoot(files, root).make();
}

}  // namespace nutshell::images
