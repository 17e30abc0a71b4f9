#include "images/host_root.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace nutshell::images {
namespace {

constexpr std::array<const char*, 7> kSystemDirectories = {"usr",   "bin",   "sbin",  "lib",
                                                           "lib32", "lib64", "libx32"};

// On a merged-/usr host /bin and its like are links into /usr; elsewhere they are directories.
std::string link_target(const char* name) {
  std::array<char, 256> target{};
  const std::string path = std::string("/") + name;
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size() - 1);
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "";
}

Result<> make_mount_point(int root, const char* name) {
  if (::mkdirat(root, name, 0755) != 0) return syscall_failure("mkdir", name);
  return {};
}

}  // namespace

Result<std::vector<std::string>> write_host_root(int root, SharedBy sharers) {
  std::vector<std::string> mounts;
  for (const char* name : kSystemDirectories) {
    const std::string target = link_target(name);
    const bool is_there = ::access((std::string("/") + name).c_str(), F_OK) == 0;
    if (!target.empty()) {
      if (::symlinkat(target.c_str(), root, name) != 0) return syscall_failure("link", name);
    } else if (is_there) {
      TRY(make_mount_point(root, name));
      mounts.emplace_back(name);
    }
  }
  for (const char* name : {"etc", "dev", "proc", "tmp", "workspace", "run", "var", "opt", "home"}) {
    TRY(make_mount_point(root, name));
  }
  if (::symlinkat("../tmp", root, "var/tmp") != 0) return syscall_failure("link", "var/tmp");
  for (const std::string& name : TRY(write_host_etc(root, sharers)))
    mounts.push_back("etc/" + name);
  return mounts;
}

std::string host_root_state() {
  std::string state;
  for (const char* name : kSystemDirectories)
    state += link_target(name) + ' ';
  return state + host_etc_state();
}

}  // namespace nutshell::images
