#include "backends/docker/kept_hash.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>

#include "base/file.h"
#include "base/sha256.h"
#include "base/user_directory.h"
#include "wire/codec.h"

namespace nutshell::docker {
namespace {

constexpr const char* kFile = "init.hash";
constexpr std::size_t kHexDigits = 64;
// Younger files may change once more without showing it: a kernel's clock ticks.
constexpr std::int64_t kOldEnough = 2'000'000'000;

struct Kept {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::uint64_t modified_ns = 0;
  std::uint64_t changed_ns = 0;
  std::string hash;

  void fields(auto& visit) { visit(device, inode, size, modified_ns, changed_ns, hash); }
  [[nodiscard]] bool is_of(const Kept& file) const {
    return device == file.device && inode == file.inode && size == file.size &&
           modified_ns == file.modified_ns && changed_ns == file.changed_ns &&
           hash.size() == kHexDigits;
  }
};

std::int64_t nanoseconds_of(const timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

Result<Kept> identity_of(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return syscall_failure("stat");
  return Kept{status.st_dev,
              status.st_ino,
              static_cast<std::uint64_t>(status.st_size),
              static_cast<std::uint64_t>(nanoseconds_of(status.st_mtim)),
              static_cast<std::uint64_t>(nanoseconds_of(status.st_ctim)),
              {}};
}

Result<Kept> read_kept(const std::filesystem::path& where) {
  constexpr std::size_t kMost = 256;
  return wire::decode<Kept>(TRY(read_file(where, kMost)));
}

bool is_old_enough(const Kept& file) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds_of(now) - static_cast<std::int64_t>(file.changed_ns) > kOldEnough;
}

}  // namespace

Result<std::string> hash_of_file(const std::filesystem::path& file, std::size_t most_bytes) {
  const UniqueFd opened = TRY(open_file(file, O_RDONLY));
  Kept wanted = TRY(identity_of(opened.get()));
  const std::filesystem::path where = TRY(open_user_directory()) / kFile;
  if (auto kept = read_kept(where); kept && kept->is_of(wanted)) return std::move(kept->hash);
  wanted.hash = sha256_hex(TRY(read_all(opened.get(), most_bytes)));
  // Where it cannot be kept, it is computed again.
  if (is_old_enough(wanted)) (void)write_file(where, wire::encode(wanted), 0600);
  return std::move(wanted.hash);
}

}  // namespace nutshell::docker
