#include "init/search/directory_entries.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace nutshell::init::search {
namespace {

constexpr std::size_t kFirstRoom = 64U << 10U;
constexpr std::size_t kLeastRoom = 32U << 10U;

// Some file systems do not tell the type of an entry.
unsigned char type_of(int directory, const char* name) {
  struct stat status {};
  if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return DT_WHT;  // just removed
  return static_cast<unsigned char>(IFTODT(status.st_mode));
}

}  // namespace

Result<bool> DirectoryEntries::read(int directory, std::size_t most) {
  directory_ = directory;
  size_ = 0;
  for (;;) {
    if (size_ >= most) return false;
    if (records_.size() - size_ < kLeastRoom) {
      records_.resize(std::max(kFirstRoom, records_.size() * 2));
    }
    const ssize_t count = ::getdents64(directory, records_.data() + size_, records_.size() - size_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return syscall_failure("read directory");
    if (count == 0) return true;
    size_ += static_cast<std::size_t>(count);
  }
}

std::size_t DirectoryEntries::take(std::size_t at, Entry& entry) const {
  const char* record = records_.data() + at;
  unsigned short length = 0;
  std::memcpy(&length, record + offsetof(dirent64, d_reclen), sizeof length);
  entry.name = record + offsetof(dirent64, d_name);
  entry.type = static_cast<unsigned char>(record[offsetof(dirent64, d_type)]);
  if (entry.type == DT_UNKNOWN) entry.type = type_of(directory_, entry.name);
  return at + length;
}

}  // namespace nutshell::init::search
