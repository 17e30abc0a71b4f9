#include "backends/gvisor/root_skeleton.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/beneath.h"
#include "base/directory.h"
#include "base/file.h"
#include "containers/container_layout.h"
#include "images/host_root.h"

namespace nutshell::gvisor {
namespace {

namespace fs = std::filesystem;

// Made for every sandbox; an image's entries with these names are ignored.
constexpr std::array<const char*, 6> kOurs = {"dev", "proc",      "sys",
                                              "tmp", "workspace", ".nutshell"};

Result<> make_link(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const fs::path target = fs::read_symlink(from, error);
  if (!error) fs::create_symlink(target, to, error);
  if (error) return syscall_failure(error.value(), "link", to.native());
  return {};
}

// Shares the image's top directory entry by entry. To mount the image as a whole, it would have to
// contain the mount points of our own mounts.
Result<std::vector<SharedPath>> share_image(const fs::path& root, const fs::path& image) {
  std::vector<SharedPath> sharing;
  std::error_code error;
  for (fs::directory_iterator entry(image, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    if (std::find(kOurs.begin(), kOurs.end(), name) != kOurs.end()) continue;
    const fs::path place = root / name;
    const fs::file_status status = entry->symlink_status(error);
    if (fs::is_symlink(status)) {
      TRY(make_link(entry->path(), place));
      continue;
    }
    if (!fs::is_directory(status) && !fs::is_regular_file(status)) continue;
    if (fs::is_directory(status)) {
      TRY(make_directory(place, 0755));
    } else {
      TRY(write_file(place, ""));
    }
    sharing.push_back({entry->path().native(), "/" + name});
  }
  if (error) return syscall_failure(error.value(), "read image", image.native());
  return sharing;
}

Result<std::vector<SharedPath>> share_host(const fs::path& root) {
  const UniqueFd directory = TRY(open_file(root, O_PATH | O_DIRECTORY));
  std::vector<SharedPath> sharing;
  for (const std::string& name :
       TRY(images::write_host_root(directory.get(), images::SharedBy::ManySandboxes)))
    sharing.push_back({"/" + name, "/" + name});
  return sharing;
}

// A mount point inside a shared directory must exist already: shared directories are not written
// to.
Result<> check_place(const std::vector<SharedPath>& sharing, const std::string& target) {
  for (const SharedPath& path : sharing) {
    if (!target.starts_with(path.target + "/")) continue;
    const UniqueFd below = TRY(open_file(path.source, O_PATH));
    const std::string rest = target.substr(path.target.size() + 1);
    if (open_beneath(below.get(), rest, O_PATH, 0, Links::Refuse)) return {};
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("mount at {}: the image has no such directory, or a link leads "
                               "to it",
                               target));
  }
  return {};
}

Result<> make_place(const fs::path& root, const std::vector<SharedPath>& sharing,
                    const UnsafeMount& mount) {
  TRY(check_place(sharing, mount.target));
  fs::path place = root;
  for (const fs::path& name : fs::path(mount.target).relative_path()) {
    place /= name;
    struct stat status {};
    if (::lstat(place.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
      return failure(
          ErrorCode::InvalidArgument,
          fmt::format("mount at {}: a link leads to it; name its target instead", mount.target));
    }
    const bool is_bound = std::any_of(sharing.begin(), sharing.end(), [&](const SharedPath& path) {
      return root / fs::path(path.target).relative_path() == place;
    });
    TRY(make_directory(place, 0755));
    if (is_bound) return {};
  }
  return {};
}

// The sandbox's user must be able to read everything, whatever umask the caller has.
void open_to_all(const fs::path& root) {
  std::error_code ignored;
  const auto open = [&](const fs::directory_entry& entry) {
    if (entry.is_symlink(ignored)) return;
    ::chmod(entry.path().c_str(), entry.is_directory(ignored) ? 0755 : 0644);
  };
  open(fs::directory_entry(root, ignored));
  for (fs::recursive_directory_iterator entry(root, ignored), end; entry != end;
       entry.increment(ignored))
    open(*entry);
}

}  // namespace

Result<std::vector<SharedPath>> write_skeleton(const fs::path& root, const std::string& image,
                                               const SandboxSpec& spec) {
  TRY(make_directory(root, 0755));
  std::vector<SharedPath> sharing =
      TRY(image.empty() ? share_host(root) : share_image(root, image));
  for (const char* name : kOurs)
    TRY(make_directory(root / name, 0755));
  for (const char* name : {"bin", "store"})
    TRY(make_directory(root / ".nutshell" / name, 0755));
  TRY(write_file(root / fs::path(containers::kInitProgram).relative_path(), ""));
  for (const UnsafeMount& mount : spec.unsafe_mounts)
    TRY(make_place(root, sharing, mount));
  open_to_all(root);
  return sharing;
}

}  // namespace nutshell::gvisor
