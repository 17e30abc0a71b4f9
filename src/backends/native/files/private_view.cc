#include "backends/native/files/private_view.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "backends/native/files/mounts.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

constexpr std::size_t kMostMountTable = 16U << 20U;
constexpr std::size_t kPlaceColumn = 4;
constexpr std::uint64_t kReadOnly = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

std::string_view column_of(std::string_view line, std::size_t number) {
  for (; number > 0 && !line.empty(); --number) {
    const std::size_t blank = line.find(' ');
    line.remove_prefix(blank == std::string_view::npos ? line.size() : blank + 1);
  }
  return line.substr(0, line.find(' '));
}

// The options name the source as ".", so that the sandbox's mount table shows no path of the host.
Result<> mount_overlay(const PrivateView& view, const std::string& source,
                       const std::string& place) {
  if (::chdir(source.c_str()) != 0) return syscall_failure("enter", source);
  const std::string options =
      fmt::format("lowerdir=.:/proc/self/fd/{}{}", view.empty_directory,
                  view.privilege == Privilege::Rootless ? ",userxattr" : "");
  constexpr unsigned long kFlags = MS_RDONLY | MS_NOSUID | MS_NODEV;
  if (::mount("none", place.c_str(), "overlay", kFlags, options.c_str()) != 0) {
    return syscall_failure("mount an overlay over", source);
  }
  return {};
}

// A single file cannot be the lower layer of an overlay.
Result<> mount_file(const std::string& source, const std::string& place) {
  const UniqueFd tree = TRY(clone_mount(AT_FDCWD, source.c_str(), Subtree::One));
  TRY(set_attributes(tree.get(), kReadOnly, Subtree::One));
  return attach_mount(tree.get(), AT_FDCWD, place.c_str());
}

}  // namespace

Result<MountTable> MountTable::read() {
  const std::string text = TRY(read_file("/proc/self/mountinfo", kMostMountTable));
  MountTable table;
  std::string_view lines = text;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    table.places_.push_back(unescape_mount_path(column_of(line, kPlaceColumn)));
  }
  std::vector<std::string>& places = table.places_;
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return table;
}

std::vector<std::string> MountTable::below(const std::string& directory) const {
  std::vector<std::string> found;
  const std::string prefix = directory + '/';
  for (const std::string& place : places_) {
    if (place.starts_with(prefix)) found.push_back(place);
  }
  return found;
}

Result<> mount_private_view(const PrivateView& view, const MountTable& table) {
  TRY(mount_overlay(view, view.source, view.place));
  for (const std::string& source : table.below(view.source)) {
    const std::string place = view.place + source.substr(view.source.size());
    struct stat status {};
    // Covered by a later mount, or not accessible to this user and so not to the sandbox either.
    if (::stat(source.c_str(), &status) != 0 || ::access(place.c_str(), F_OK) != 0) continue;
    TRY(S_ISDIR(status.st_mode) ? mount_overlay(view, source, place) : mount_file(source, place));
  }
  return {};
}

}  // namespace nutshell::native
