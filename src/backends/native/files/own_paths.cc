#include "backends/native/files/own_paths.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/beneath.h"
#include "base/defer.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorkspace = "/workspace";
constexpr const char* kBroughtName = "brought";  // where a mount is attached while it is overlaid
constexpr const char* kEmptyName = "empty";      // a second lower layer, which an overlay needs

Result<> make_directory(int directory, const std::string& name) {
  if (::mkdirat(directory, name.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return syscall_failure("mkdir", name);
}

// Opens the directory at `path` below `root`, and makes those that are missing. A link on the way
// is refused, because the image chose where it leads.
Result<UniqueFd> make_directories(int root, const fs::path& path) {
  UniqueFd directory = TRY(open_at(root, ".", O_PATH | O_DIRECTORY));
  for (const fs::path& name : path.relative_path()) {
    TRY(make_directory(directory.get(), name));
    directory = TRY(open_beneath(directory.get(), name, O_PATH | O_DIRECTORY, 0, Links::Refuse));
  }
  return directory;
}

Result<> copy_file(int source, int root, const fs::path& target) {
  const UniqueFd parent = TRY(make_directories(root, target.parent_path()));
  const std::string bytes = TRY(read_file(fmt::format("/proc/self/fd/{}", source), kMostShownFile));
  const UniqueFd copy = TRY(open_at(parent.get(), target.filename().c_str(),
                                    O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0644));
  return write_all(copy.get(), bytes);
}

// The mount is attached outside the root while the overlay is made, so that the sandbox's mount
// table does not show its path on the host.
Result<> mount_view(const ShownPath& shown, const OwnPathsPlace& place) {
  TRY(make_directories(place.root, shown.target));
  TRY(make_directory(place.memory, kBroughtName));
  TRY(make_directory(place.memory, kEmptyName));
  TRY(attach_mount(shown.source, place.memory, kBroughtName));
  const UniqueFd brought = TRY(open_at(place.memory, kBroughtName, O_PATH | O_DIRECTORY));
  const UniqueFd empty = TRY(open_at(place.memory, kEmptyName, O_PATH | O_DIRECTORY));
  const std::string attached = fmt::format("/proc/self/fd/{}", brought.get());
  const Defer detached([&attached] { ::umount2(attached.c_str(), MNT_DETACH); });
  if (::fchdir(brought.get()) != 0) return syscall_failure("enter", shown.target);
  const std::string options =
      fmt::format("lowerdir=.:/proc/self/fd/{}{}", empty.get(),
                  place.privilege == Privilege::Rootless ? ",userxattr" : "");
  constexpr unsigned long kFlags = MS_RDONLY | MS_NOSUID | MS_NODEV;
  const std::string target = place.root_path + shown.target;
  const int status = ::mount("none", target.c_str(), "overlay", kFlags, options.c_str());
  const int problem = errno;
  if (::chdir("/") != 0) return syscall_failure("enter", "/");
  if (status != 0) return syscall_failure(problem, "mount an overlay at", shown.target);
  return {};
}

Result<> show(const ShownPath& shown, const OwnPathsPlace& place) {
  struct stat status {};
  if (::fstat(shown.source, &status) != 0) return syscall_failure("stat", shown.target);
  return S_ISDIR(status.st_mode) ? mount_view(shown, place)
                                 : copy_file(shown.source, place.root, shown.target);
}

}  // namespace

bool is_at_or_below(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

bool has_own_path(const std::string& workspace) {
  return !workspace.empty() && workspace != "/" && !is_at_or_below(workspace, "/workspace");
}

Result<> link_project(const std::string& project, int root) {
  const fs::path path = fs::path(project).relative_path();
  const UniqueFd parent = TRY(make_directories(root, path.parent_path()));
  if (::symlinkat(kWorkspace, parent.get(), path.filename().c_str()) != 0 && errno != EEXIST)
    return syscall_failure("link", project);
  return {};
}

Result<> show_own_paths(const OwnPaths& paths, const OwnPathsPlace& place) {
  for (const ShownPath& shown : paths.shown) {
    auto done = show(shown, place);
    if (!done)
      return while_doing(fmt::format("mount at {}", shown.target), std::move(done).error());
  }
  if (paths.project.empty()) return {};
  // Where a directory of the host is in the way, the project has no path of its own.
  (void)link_project(paths.project, place.root);
  return {};
}

}  // namespace nutshell::native
