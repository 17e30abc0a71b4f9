#include "init/layers/follow_apply.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/defer.h"
#include "base/file.h"
#include "init/files/regular_file.h"
#include "init/files/remove_tree.h"
#include "init/layers/layer_view.h"

namespace nutshell::init {
namespace {

using wire::FileInfo;
using wire::FileKind;

bool is_as_applied(const FileInfo& now, const FileInfo& applied) {
  if (now.kind != applied.kind || now.target != applied.target) return false;
  if (now.kind == FileKind::Link || now.kind == kNothingThere) return true;
  if (now.mode != applied.mode) return false;
  if (now.kind != FileKind::Regular) return true;
  return now.size == applied.size && now.modified_ns == applied.modified_ns;
}

// Removes what is in the way. A directory stays if a directory is wanted; a file is replaced by
// rename later.
Result<> clear(const Place& place, FileKind wanted) {
  struct stat status {};
  const int directory = place.directory.get();
  if (::fstatat(directory, place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  const bool stays = (S_ISDIR(status.st_mode) && wanted == FileKind::Directory) ||
                     (S_ISREG(status.st_mode) && wanted == FileKind::Regular);
  if (stays) return {};
  if (S_ISDIR(status.st_mode)) return remove_tree(directory, place.name);
  if (::unlinkat(directory, place.name.c_str(), 0) != 0)
    return syscall_failure("remove", place.name);
  return {};
}

Result<> copy_bytes(int from, int to) {
  std::string chunk(1U << 16U, '\0');
  for (;;) {
    const ssize_t count = ::read(from, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return syscall_failure("read");
    if (count == 0) return {};
    TRY(write_all(to, {chunk.data(), static_cast<std::size_t>(count)}));
  }
}

Result<bool> put_file(const Place& place, const Image& now, const struct stat& seen) {
  const UniqueFd from = TRY(now.content->open());
  NewFile file = TRY(NewFile::create(place));
  TRY(copy_bytes(from.get(), file.descriptor()));
  struct stat status {};
  if (::fstat(from.get(), &status) != 0) return syscall_failure("stat", place.name);
  if (!is_same_file(seen, status)) return false;
  TRY(file.take_on(now.info.mode));
  TRY(file.take_name(place));
  return true;
}

Result<bool> put(const Place& place, const Image& now, const struct stat& seen) {
  const int directory = place.directory.get();
  switch (now.info.kind) {
    case FileKind::Regular:
      return put_file(place, now, seen);
    case FileKind::Link:
      if (::symlinkat(now.info.target.c_str(), directory, place.name.c_str()) != 0)
        return syscall_failure("link", place.name);
      return true;
    case FileKind::Directory:
      if (::mkdirat(directory, place.name.c_str(), 0700) != 0 && errno != EEXIST)
        return syscall_failure("make directory", place.name);
      if (::fchmodat(directory, place.name.c_str(), now.info.mode, 0) != 0)
        return syscall_failure("chmod", place.name);
      return true;
    default:
      return true;
  }
}

// Makes a read-only directory writable for a moment.
Result<bool> put_in_place(const Place& place, const std::optional<LayerEntry>& entry,
                          const Image& now) {
  struct stat status {};
  if (::fstat(place.directory.get(), &status) != 0) return syscall_failure("stat", place.path);
  const std::string link = fmt::format("/proc/self/fd/{}", place.directory.get());
  const bool is_closed = (status.st_mode & 0300U) != 0300U;
  if (is_closed && ::chmod(link.c_str(), (status.st_mode & 0777U) | 0300U) != 0)
    return syscall_failure("open up", place.path);
  const Defer closed([&] {
    if (is_closed) ::chmod(link.c_str(), status.st_mode & 07777U);
  });
  TRY(clear(place, now.info.kind));
  return entry ? put(place, now, entry->status) : Result<bool>(true);
}

}  // namespace

Result<bool> follow_apply(const ComparedCopies& copies, const wire::FileChange& applied) {
  const std::string& path = applied.path;
  const auto entry = TRY(LayerView({copies.now}).find(path));
  const Image now = image_of(entry, path);
  if (!is_as_applied(now.info, applied.after)) return false;
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
  auto directory =
      open_beneath(copies.base.directory(), parent, O_PATH | O_DIRECTORY, 0, Links::Refuse);
  if (!directory && !now.is_there()) return true;
  if (!directory) return Failure(std::move(directory).error());
  const Place place{std::move(*directory), path.substr(slash + 1), path, {}, {}};
  return put_in_place(place, entry, now);
}

}  // namespace nutshell::init
