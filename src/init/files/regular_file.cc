#include "init/files/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/beneath.h"
#include "base/deadline.h"
#include "base/file.h"
#include "base/random_id.h"
#include "init/files/paths.h"
#include "init/files/version.h"

namespace nutshell::init {
namespace {

constexpr int kReading = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

Refusal refuse_size(std::uint64_t bytes, std::string_view shown) {
  return refuse(ErrorCode::TooLarge, fmt::format("{} has {} bytes.", printable(shown), bytes),
                fmt::format("At most {} MiB are taken as text.", kMostTextBytes >> 20U),
                "Use grep, or bash with head, tail or sed -n.");
}

// Returns a different number at every call, without a system call; not a secret.
std::string momentary_name() {
  const auto moment = Clock::now().time_since_epoch();
  return fmt::format(".nutshell-{:x}", std::chrono::nanoseconds(moment).count());
}

Attempt<WholeFile> read_opened(UniqueFd file, std::string_view shown) {
  WholeFile whole{{}, {}, std::move(file)};
  const int fd = whole.file.get();
  if (::fstat(fd, &whole.status) != 0) return refuse(syscall_failure("stat").value(), shown);
  if (!S_ISREG(whole.status.st_mode)) return refuse_special(whole.status, shown);
  const auto size = static_cast<std::uint64_t>(whole.status.st_size);
  if (size > kMostTextBytes) return refuse_size(size, shown);
  auto bytes = read_to_end(fd, size, kMostTextBytes);
  if (!bytes) return refuse(bytes.error(), shown);
  if (bytes->size() > kMostTextBytes) return refuse_size(bytes->size(), shown);
  whole.bytes = std::move(*bytes);
  return whole;
}

}  // namespace

Result<std::string> read_to_end(int file, std::uint64_t expected, std::uint64_t most) {
  std::string bytes;
  bytes.resize(std::min(expected, most) + 1);  // one more: the end is seen without a second read
  std::size_t filled = 0;
  for (;;) {
    const ssize_t count = ::read(file, bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return syscall_failure("read");
    filled += static_cast<std::size_t>(count);
    if (filled < bytes.size() && (count == 0 || filled == expected)) break;
    if (filled > most) break;
    if (filled == bytes.size()) bytes.resize(std::min(most + 1, 2 * bytes.size() + 4096));
  }
  bytes.resize(filled);
  return bytes;
}

Attempt<WholeFile> read_whole(const std::string& path, std::string_view shown) {
  struct stat status {};  // read first: opening a FIFO or a device has side effects
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return refuse_missing(path, shown);
    return refuse(syscall_failure("open").value(), shown);
  }
  if (!S_ISREG(status.st_mode)) return refuse_special(status, shown);
  auto file = open_beneath(AT_FDCWD, path, kReading, 0, Links::Follow);
  if (!file) return refuse(file.error(), shown);
  struct statfs system {};
  if (::fstatfs(file->get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC) {
    return refuse(ErrorCode::InvalidArgument,
                  fmt::format("{} is a file of the kernel.", printable(shown)), {},
                  "Read it with bash.");
  }
  return read_opened(std::move(*file), shown);
}

Attempt<WholeFile> read_whole(const Place& place, std::string_view shown) {
  if (!place.is_there()) return refuse_missing(place.path, shown);
  if (!S_ISREG(place.found.st_mode)) return refuse_special(place.found, shown);
  auto file = open_at(place.directory.get(), place.name.c_str(), kReading | O_NOFOLLOW);
  if (!file) return refuse(file.error(), shown);
  return read_opened(std::move(*file), shown);
}

Result<std::string> version_of(int file) {
  ContentHash hash;
  std::string chunk(1U << 18U, '\0');
  for (;;) {
    const ssize_t count = ::read(file, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return syscall_failure("read");
    if (count == 0) return hash.full_version();
    hash.add({chunk.data(), static_cast<std::size_t>(count)});
  }
}

Result<NewFile> NewFile::create(const Place& place, mode_t mode) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  const int directory = place.directory.get();
  std::string temporary = momentary_name();
  auto file = open_at(directory, temporary.c_str(), kFlags, mode & 0777U);
  if (!file && file.error().code == ErrorCode::AlreadyExists) {
    temporary = temporary_name();
    file = open_at(directory, temporary.c_str(), kFlags, mode & 0777U);
  }
  return NewFile(directory, std::move(temporary), TRY(std::move(file)));
}

NewFile::NewFile(NewFile&& other) noexcept
    : directory_(other.directory_),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)) {}

NewFile::~NewFile() {
  if (!temporary_.empty()) ::unlinkat(directory_, temporary_.c_str(), 0);
}

Result<struct stat> NewFile::take_on(mode_t mode, uid_t owner, gid_t group) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return syscall_failure("stat");
  if (owner == kUnknownId) owner = status.st_uid;
  if (group == kUnknownId) group = status.st_gid;
  const bool is_owned = status.st_uid == owner && status.st_gid == group;
  if (!is_owned && ::fchown(file_.get(), owner, group) != 0) {
    return syscall_failure("keep the owner");
  }
  // Set after the owner: chown() clears set-user-id.
  const bool has_mode = is_owned && (status.st_mode & 07777U) == (mode & 07777U);
  if (!has_mode && ::fchmod(file_.get(), mode & 07777U) != 0) return syscall_failure("chmod");
  status.st_mode = (status.st_mode & S_IFMT) | (mode & 07777U);
  status.st_uid = owner;
  status.st_gid = group;
  return status;
}

Result<> NewFile::take_name(const Place& place) {
  file_.reset();  // closed before the rename, so that it can be executed at once (ETXTBSY)
  if (::renameat(directory_, temporary_.c_str(), directory_, place.name.c_str()) != 0) {
    return syscall_failure("replace");
  }
  temporary_.clear();
  return {};
}

std::string temporary_name() {
  return ".nutshell-" + random_id(12);
}

Image image_of(const struct stat& status) {
  return {describe(status, {}), status.st_uid, status.st_gid, nullptr};
}

bool is_same_file(const struct stat& left, const struct stat& right) {
  const auto same_time = [](const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  };
  return left.st_ino == right.st_ino && left.st_dev == right.st_dev &&
         left.st_size == right.st_size && left.st_mode == right.st_mode &&
         same_time(left.st_mtim, right.st_mtim) && same_time(left.st_ctim, right.st_ctim);
}

}  // namespace nutshell::init
