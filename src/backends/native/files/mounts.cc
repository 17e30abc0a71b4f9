#include "backends/native/files/mounts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>

namespace nutshell::native {
namespace {

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

}  // namespace

Result<UniqueFd> clone_mount(int directory, const char* path, Subtree subtree) {
  unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW;
  if (subtree == Subtree::Recursive) flags |= AT_RECURSIVE;
  if (*path == '\0') flags |= AT_EMPTY_PATH;
  UniqueFd fd(::open_tree(directory, path, flags));
  if (!fd) return syscall_failure("clone mount", path);
  return fd;
}

Result<> set_attributes(int mount, std::uint64_t attributes, Subtree subtree) {
  mount_attr wanted{};
  wanted.attr_set = attributes;
  wanted.propagation = MS_PRIVATE;
  const unsigned flags = AT_EMPTY_PATH | (subtree == Subtree::Recursive ? AT_RECURSIVE : 0U);
  if (::mount_setattr(mount, "", flags, &wanted, sizeof wanted) != 0) {
    return syscall_failure("mount_setattr");
  }
  return {};
}

Result<UniqueFd> new_file_system(const char* type,
                                 std::initializer_list<std::pair<const char*, std::string>> options,
                                 std::uint64_t attributes) {
  const UniqueFd context(::fsopen(type, FSOPEN_CLOEXEC));
  if (!context) return syscall_failure("fsopen", type);
  for (const auto& [key, value] : options) {
    const int result = value.empty()
                           ? ::fsconfig(context.get(), FSCONFIG_SET_FLAG, key, nullptr, 0)
                           : ::fsconfig(context.get(), FSCONFIG_SET_STRING, key, value.c_str(), 0);
    if (result != 0) return syscall_failure(fmt::format("set {} of", key), type);
  }
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return syscall_failure("create file system", type);
  }
  UniqueFd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes)));
  if (!mount) return syscall_failure("mount", type);
  return mount;
}

Result<> attach_mount(int mount, int directory, const char* name) {
  const unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (*name == '\0' ? MOVE_MOUNT_T_EMPTY_PATH : 0U);
  if (::move_mount(mount, "", directory, name, flags) != 0)
    return syscall_failure("mount on", name);
  return {};
}

std::string unescape_mount_path(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) &&
                           is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!is_escape) {
      plain += text[i];
      continue;
    }
    const int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
    plain += static_cast<char>(code);
    i += 3;
  }
  return plain;
}

}  // namespace nutshell::native
