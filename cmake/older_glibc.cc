// Lets a program that is linked here run with glibc 2.35 too: functions that came with 2.36.
// libstdc++ and libarchive call arc4random, our mounts the others. The linker prefers these
// definitions to those of the C library.
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" {

void arc4random_buf(void* buffer, std::size_t size) noexcept {
  auto* at = static_cast<unsigned char*>(buffer);
  while (size > 0) {
    const ssize_t count = ::getrandom(at, size, 0);
    if (count < 0 && errno != EINTR) std::abort();  // there is no other source of randomness
    if (count < 0) continue;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
}

std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  arc4random_buf(&number, sizeof number);
  return number;
}

int fsopen(const char* type, unsigned flags) noexcept {
  return static_cast<int>(::syscall(SYS_fsopen, type, flags));
}

int fsconfig(int fd, unsigned command, const char* key, const void* value, int number) noexcept {
  return static_cast<int>(::syscall(SYS_fsconfig, fd, command, key, value, number));
}

int fsmount(int fd, unsigned flags, unsigned attributes) noexcept {
  return static_cast<int>(::syscall(SYS_fsmount, fd, flags, attributes));
}

int open_tree(int directory, const char* path, unsigned flags) noexcept {
  return static_cast<int>(::syscall(SYS_open_tree, directory, path, flags));
}

int move_mount(int from, const char* from_path, int to, const char* to_path,
               unsigned flags) noexcept {
  return static_cast<int>(::syscall(SYS_move_mount, from, from_path, to, to_path, flags));
}

int mount_setattr(int directory, const char* path, unsigned flags, mount_attr* attributes,
                  std::size_t size) noexcept {
  return static_cast<int>(::syscall(SYS_mount_setattr, directory, path, flags, attributes, size));
}

}  // extern "C"
