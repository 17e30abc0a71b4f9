#include "runtime/apply_target.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>

#include "base/beneath.h"
#include "base/defer.h"
#include "base/file.h"
#include "runtime/workspace_changes.h"

namespace nutshell {
namespace {

constexpr const char* kNew = "new";

std::string staging_name() {
  return std::string(kStagingName);
}

bool is_absent(const Error& error) {
  return error.code == ErrorCode::NotFound || errno == ENOTDIR || errno == ELOOP;
}

// Empties the staging directory, which has only one level.
void sweep_staging(int root) {
  auto staging =
      open_beneath(root, staging_name(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, Links::Refuse);
  if (!staging) return;
  DIR* entries = ::fdopendir(staging->release());
  if (entries == nullptr) return;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of ours
  for (const dirent* entry = ::readdir(entries); entry != nullptr; entry = ::readdir(entries)) {
    if (!is_plain_name(entry->d_name)) continue;
    if (::unlinkat(::dirfd(entries), entry->d_name, 0) != 0)
      ::unlinkat(::dirfd(entries), entry->d_name, AT_REMOVEDIR);
  }
  ::closedir(entries);
  ::unlinkat(root, staging_name().c_str(), AT_REMOVEDIR);
}

// Gives a new file the owner of the directory, so that root leaves no files of root there.
Result<> give_to_owner(int directory, const char* name, const struct stat& like) {
  if (::geteuid() != 0) return {};
  if (::fchownat(directory, name, like.st_uid, like.st_gid, AT_SYMLINK_NOFOLLOW) != 0)
    return syscall_failure("chown", name);
  return {};
}

Result<bool> is_empty(int parent, const std::string& name) {
  UniqueFd opened =
      TRY(open_beneath(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, Links::Refuse));
  DIR* entries = ::fdopendir(opened.get());
  if (entries == nullptr) return syscall_failure("open", name);
  (void)opened.release();  // the stream owns it from here on
  bool is_empty = true;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of ours
  for (const dirent* entry = ::readdir(entries); entry != nullptr; entry = ::readdir(entries)) {
    is_empty = is_empty && !is_plain_name(entry->d_name);
  }
  ::closedir(entries);
  return is_empty;
}

}  // namespace

Result<ApplyTarget> ApplyTarget::open(const std::filesystem::path& directory) {
  ApplyTarget target(TRY(open_file(directory, O_RDONLY | O_DIRECTORY)));
  if (::flock(target.root_.get(), LOCK_EX | LOCK_NB) != 0) {
    return failure(ErrorCode::Unavailable,
                   fmt::format("another apply to {} is at work", directory.native()));
  }
  sweep_staging(target.root_.get());
  return target;
}

ApplyTarget::~ApplyTarget() {
  if (root_ && staging_) sweep_staging(root_.get());
}

Result<ApplyTarget::Place> ApplyTarget::place_of(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
  return Place{TRY(open_beneath(root_.get(), parent, O_PATH | O_DIRECTORY, 0, Links::Refuse)),
               path.substr(slash + 1)};  // npos + 1 is 0
}

Result<std::optional<struct stat>> ApplyTarget::look(const std::string& path) const {
  auto place = place_of(path);
  if (!place && is_absent(place.error())) return std::optional<struct stat>();
  if (!place) return Failure(std::move(place).error());
  struct stat status {};
  if (::fstatat(place->parent.get(), place->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
    return std::optional(status);
  if (errno == ENOENT) return std::optional<struct stat>();
  return syscall_failure("stat", path);
}

Result<std::string> ApplyTarget::link_target(const std::string& path) const {
  const Place place = TRY(place_of(path));
  std::array<char, 4096> target{};
  const ssize_t size =
      ::readlinkat(place.parent.get(), place.name.c_str(), target.data(), target.size());
  if (size < 0) return syscall_failure("read link", path);
  return std::string(target.data(), static_cast<std::size_t>(size));
}

Result<> ApplyTarget::stage() {
  if (::mkdirat(root_.get(), staging_name().c_str(), 0700) != 0)
    return syscall_failure("make", staging_name());
  staging_ = TRY(open_beneath(root_.get(), staging_name(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
                              Links::Refuse));
  return {};
}

Result<UniqueFd> ApplyTarget::new_file() {
  return open_at(staging_.get(), kNew, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

Result<> ApplyTarget::new_link(const std::string& target) {
  if (::symlinkat(target.c_str(), staging_.get(), kNew) != 0)
    return syscall_failure("link", target);
  return {};
}

Result<> ApplyTarget::new_directory() {
  if (::mkdirat(staging_.get(), kNew, 0755) != 0) return syscall_failure("make a directory");
  return {};
}

Result<> ApplyTarget::put(const std::string& path) {
  Defer removed([this] {
    if (::unlinkat(staging_.get(), kNew, 0) != 0) ::unlinkat(staging_.get(), kNew, AT_REMOVEDIR);
  });
  const Place place = TRY(place_of(path));
  const int parent = place.parent.get();
  const char* name = place.name.c_str();
  struct stat old {};
  struct stat fresh {};
  const bool is_there = ::fstatat(parent, name, &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_there && ::fstat(parent, &old) != 0) return syscall_failure("stat", path);
  if (::fstatat(staging_.get(), kNew, &fresh, AT_SYMLINK_NOFOLLOW) != 0)
    return syscall_failure("stat", path);
  TRY(give_to_owner(staging_.get(), kNew, old));
  const bool is_exchanged = is_there && (S_ISDIR(old.st_mode) || S_ISDIR(fresh.st_mode));
  if (!is_exchanged) {
    if (::renameat2(staging_.get(), kNew, parent, name, 0) != 0)
      return syscall_failure("replace", path);
    removed.release();
    return {};
  }
  if (S_ISDIR(old.st_mode) && !TRY(is_empty(parent, place.name))) {
    return failure(ErrorCode::AlreadyExists,
                   fmt::format("{} still has files here that the sandbox does not know", path));
  }
  if (::renameat2(staging_.get(), kNew, parent, name, RENAME_EXCHANGE) != 0)
    return syscall_failure("replace", path);
  return {};
}

Result<> ApplyTarget::remove(const std::string& path) const {
  const Place place = TRY(place_of(path));
  struct stat status {};
  if (::fstatat(place.parent.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Result<>() : Result<>(syscall_failure("stat", path));
  const int flags = S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0;
  if (::unlinkat(place.parent.get(), place.name.c_str(), flags) != 0)
    return syscall_failure("remove", path);
  return {};
}

}  // namespace nutshell
