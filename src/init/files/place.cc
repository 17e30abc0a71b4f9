#include "init/files/place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/beneath.h"
#include "base/file.h"
#include "init/files/near_name.h"
#include "init/files/paths.h"

namespace nutshell::init {
namespace {

constexpr int kMostLinks = 40;  // as the kernel
// STATX_MNT_ID_UNIQUE of Linux 6.8, which older headers lack: this number is never used again.
constexpr unsigned kUniqueMountId = 0x4000;
constexpr unsigned kMountId = STATX_MNT_ID | kUniqueMountId;

bool lies_below(std::string_view path, std::string_view root) {
  if (root == "/") return path.starts_with('/');
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

std::string path_of(int descriptor) {
  std::array<char, 4096> path;
  const auto link = fmt::format("/proc/self/fd/{}", descriptor);
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string();
}

// Whether the path has no empty, "." or ".." components.
bool is_normal(std::string_view path) {
  return path.find("//") == std::string_view::npos && path.find("/./") == std::string_view::npos &&
         path.find("/../") == std::string_view::npos && !path.ends_with("/.") &&
         !path.ends_with("/..");
}

// gVisor has no numbers of mounts; there the number of the file system is used.
std::uint64_t mount_of(const struct statx& status) {
  if ((status.stx_mask & kMountId) != 0) return status.stx_mnt_id;
  return (static_cast<std::uint64_t>(status.stx_dev_major) << 32U) | status.stx_dev_minor;
}

Result<UniqueFd> walk_without_links(const std::string& path) {
  const UniqueFd top = TRY(open_file("/", O_PATH | O_DIRECTORY));
  return open_beneath(top.get(), "." + path, O_PATH | O_DIRECTORY, 0, Links::Refuse);
}

// Opens from "/" on; open_beneath() would first need a descriptor of it.
Result<UniqueFd> open_without_links(const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how);
  if (fd < 0 && errno == ENOSYS) return walk_without_links(path);
  if (fd < 0) return syscall_failure("open", path);
  return UniqueFd(static_cast<int>(fd));
}

struct Split {
  std::string parent;
  std::string name;
};
Split split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

std::string joined(const std::string& directory, const std::string& name) {
  return directory == "/" ? directory + name : fmt::format("{}/{}", directory, name);
}

// Makes the missing directories below the deepest that exists.
Attempt<> make_parents(Place& place, const std::vector<std::string>& missing) {
  for (const std::string& name : missing) {
    if (!is_plain_name(name)) {
      return refuse(ErrorCode::InvalidArgument,
                    fmt::format("'{}' comes after a directory that is not there.", name));
    }
    const bool is_made = ::mkdirat(place.directory.get(), name.c_str(), 0755) == 0;
    if (!is_made && errno != EEXIST) {
      return refuse(syscall_failure("make directory", name).value(), place.path);
    }
    auto next = open_beneath(place.directory.get(), name, O_PATH | O_DIRECTORY, 0, Links::Refuse);
    place.path = joined(place.path, name);
    if (!next) {
      return refuse(ErrorCode::InvalidArgument,
                    fmt::format("{} is not a directory.", printable(place.path)));
    }
    std::swap(place.directory, *next);
    if (is_made) place.made.push_back({std::move(*next), name, place.path});
  }
  return {};
}

// Returns the directory that contains `wanted`.
Attempt<Place> open_directory(const WritableRoots& roots, const std::string& wanted,
                              Parents parents, std::string_view shown) {
  std::vector<std::string> missing;
  std::string existing = split(wanted).parent;
  auto opened = roots.open(existing, shown);
  while (!opened && parents == Parents::Made && existing != "/" &&
         opened.error().code == ErrorCode::NotFound) {
    auto [parent, name] = split(existing);
    if (!name.empty() && name != ".") missing.insert(missing.begin(), name);
    existing = parent;
    opened = roots.open(existing, shown);
  }
  if (!opened) {
    if (opened.error().code == ErrorCode::NotFound) return refuse_missing(wanted, shown);
    return Refusal(std::move(opened).error());
  }
  Place place{std::move(opened->directory), {}, std::move(opened->path), {}, {}};
  auto made = make_parents(place, missing);
  if (made) return place;
  unmake_parents(place);
  return Refusal(std::move(made).error());
}

}  // namespace

Attempt<> WritableRoots::check(const Located& located, std::string_view shown) const {
  struct statx here {};
  if (::statx(located.directory.get(), "", AT_EMPTY_PATH, kMountId, &here) != 0) {
    return refuse(syscall_failure("stat").value(), shown);
  }
  const std::uint64_t mount = mount_of(here);
  const bool is_known = std::find(mounts_.begin(), mounts_.end(), mount) != mounts_.end();
  if (is_known && located.path.starts_with('/')) return {};
  bool is_below = false;
  for (const std::string& root : paths_) {
    struct statx top {};
    if (::statx(AT_FDCWD, root.c_str(), 0, kMountId, &top) != 0) continue;
    is_below = is_below || lies_below(located.path, root);
    if (mount_of(top) != mount) continue;
    const bool is_mount = (top.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    if (is_mount && (top.stx_mask & kUniqueMountId) != 0) know(top.stx_mnt_id);
    if ((is_mount || lies_below(located.path, root)) && located.path.starts_with('/')) return {};
  }
  if (is_below) {
    return refuse(ErrorCode::PermissionDenied,
                  fmt::format("{} is on a mount that is not to be changed.", printable(shown)));
  }
  return refuse(ErrorCode::OutsideRoot,
                fmt::format("{} is outside the workspace.", printable(shown)), {},
                fmt::format("Only files below {} can be changed.", fmt::join(paths_, " and ")));
}

void WritableRoots::know(std::uint64_t mount) const {
  constexpr std::size_t kMostKnown = 8;
  if (mounts_.size() >= kMostKnown) mounts_.clear();
  mounts_.push_back(mount);
}

Attempt<WritableRoots::Located> WritableRoots::open_plain(const std::string& path,
                                                          std::string_view shown) const {
  auto opened = open_without_links(path);
  if (!opened) return refuse(opened.error(), shown);
  Located located{std::move(*opened), path};
  auto checked = check(located, shown);
  if (!checked) return Refusal(std::move(checked).error());
  return located;
}

Attempt<WritableRoots::Located> WritableRoots::open(const std::string& path,
                                                    std::string_view shown) const {
  // Most paths are plain, and then the kernel need not be asked for their real path.
  if (is_normal(path)) {
    auto located = open_plain(path, shown);
    if (located || located.error().code == ErrorCode::NotFound) return located;
  }
  auto opened = open_beneath(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0, Links::Follow);
  if (!opened) return refuse(opened.error(), shown);
  Located located{std::move(*opened), {}};
  located.path = path_of(located.directory.get());
  auto checked = check(located, shown);
  if (!checked) return Refusal(std::move(checked).error());
  return located;
}

std::string WritableRoots::relative(const std::string& path) const {
  if (paths_.empty() || !lies_below(path, paths_.front())) return path;
  const std::size_t size = paths_.front().size();
  return path.size() == size ? "." : path.substr(size + 1);
}

Attempt<Place> find_place(const WritableRoots& roots, const std::string& path,
                          std::string_view shown, LastLink last_link, Parents parents) {
  std::string wanted = path;
  for (int links = 0; links < kMostLinks; ++links) {
    const std::string name = split(wanted).name;
    if (!is_plain_name(name)) {
      return refuse(ErrorCode::InvalidArgument,
                    fmt::format("'{}' names no file.", printable(shown)));
    }
    auto place = open_directory(roots, wanted, parents, shown);
    if (!place) return place;
    const int directory = place->directory.get();
    if (::fstatat(directory, name.c_str(), &place->found, AT_SYMLINK_NOFOLLOW) != 0) {
      place->found = {};
    }
    if (last_link == LastLink::Follow && S_ISLNK(place->found.st_mode)) {
      unmake_parents(*place);
      wanted = absolute_path(read_link(directory, name), place->path);
      continue;
    }
    if (shown.ends_with('/') && place->is_there() && !S_ISDIR(place->found.st_mode)) {
      unmake_parents(*place);
      return refuse(ErrorCode::InvalidArgument,
                    fmt::format("{} is not a directory.", printable(shown)), {},
                    "Leave the last slash out.");
    }
    place->name = name;
    place->path = joined(place->path, name);
    return place;
  }
  return refuse(ErrorCode::InvalidArgument, fmt::format("{}: too many links.", printable(shown)),
                "They may lead in a circle.");
}

void unmake_parents(const Place& place) {
  for (auto made = place.made.rbegin(); made != place.made.rend(); ++made)
    ::unlinkat(made->parent.get(), made->name.c_str(), AT_REMOVEDIR);
}

std::string absolute_path(std::string_view path, const std::string& working_directory) {
  std::string whole =
      path.starts_with('/') ? std::string(path) : fmt::format("{}/{}", working_directory, path);
  while (whole.size() > 1 && whole.back() == '/')
    whole.pop_back();
  return whole;
}

Refusal refuse_missing(const std::string& path, std::string_view shown) {
  const std::string meant = near_path(path);
  std::string next;
  if (!meant.empty()) {
    // Relative to the same directory as the caller's path.
    const std::size_t hidden = path.ends_with(shown) ? path.size() - shown.size() : 0;
    next = fmt::format("Did you mean `{}`?", printable(std::string_view(meant).substr(hidden)));
  }
  return refuse(ErrorCode::NotFound, fmt::format("{} does not exist.", printable(shown)), {},
                std::move(next));
}

Refusal refuse_special(const struct stat& status, std::string_view shown) {
  const auto format = status.st_mode & S_IFMT;
  if (format == S_IFDIR) {
    return refuse(ErrorCode::IsDirectory, fmt::format("{} is a directory.", printable(shown)), {},
                  "Use ls to see what is in it.");
  }
  const char* kind = "not a regular file";
  if (format == S_IFIFO) kind = "a FIFO";
  if (format == S_IFSOCK) kind = "a socket";
  if (format == S_IFCHR || format == S_IFBLK) kind = "a device";
  if (format == S_IFLNK) kind = "a link that leads nowhere";
  return refuse(ErrorCode::InvalidArgument, fmt::format("{} is {}.", printable(shown), kind),
                "Only regular files can be read and written.");
}

}  // namespace nutshell::init
