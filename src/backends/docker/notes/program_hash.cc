#include "backends/docker/notes/program_hash.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>

#include "backends/docker/notes/note_files.h"
#include "base/file.h"
#include "base/sha256.h"

namespace nutshell::docker {
namespace {

constexpr std::size_t kHexDigits = 64;
// A file that changed more recently may change again within one tick of the kernel's clock, and so
// keep its times.
constexpr std::int64_t kOldEnoughNs = 2'000'000'000;

struct FileHash {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::uint64_t modified_ns = 0;
  std::uint64_t changed_ns = 0;
  std::string hash;

  void fields(auto& visit) { visit(device, inode, size, modified_ns, changed_ns, hash); }
  [[nodiscard]] bool is_of(const FileHash& file) const {
    return device == file.device && inode == file.inode && size == file.size &&
           modified_ns == file.modified_ns && changed_ns == file.changed_ns &&
           hash.size() == kHexDigits;
  }
};

constexpr Notes<FileHash> kNotes{"", ".hash"};
constexpr const char* kName = "init";

std::int64_t nanoseconds_of(const timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

Result<FileHash> identity_of(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return syscall_failure("stat");
  return FileHash{status.st_dev,
                  status.st_ino,
                  static_cast<std::uint64_t>(status.st_size),
                  static_cast<std::uint64_t>(nanoseconds_of(status.st_mtim)),
                  static_cast<std::uint64_t>(nanoseconds_of(status.st_ctim)),
                  {}};
}

bool is_old_enough(const FileHash& file) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds_of(now) - static_cast<std::int64_t>(file.changed_ns) > kOldEnoughNs;
}

}  // namespace

Result<std::string> hash_of_file(const std::filesystem::path& file, std::size_t most_bytes) {
  const UniqueFd opened = TRY(open_file(file, O_RDONLY));
  FileHash wanted = TRY(identity_of(opened.get()));
  if (auto kept = kNotes.read(kName); kept && kept->is_of(wanted)) return std::move(kept->hash);
  wanted.hash = sha256_hex(TRY(read_all(opened.get(), most_bytes)));
  // Without a note the next call computes the hash again.
  if (is_old_enough(wanted)) (void)kNotes.write(kName, wanted);
  return std::move(wanted.hash);
}

}  // namespace nutshell::docker
