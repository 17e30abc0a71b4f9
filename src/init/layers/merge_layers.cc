#include "init/layers/merge_layers.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/file.h"

namespace nutshell::init {
namespace {

constexpr int kMostDepth = 512;
constexpr const char* kSpare = ".spare";  // in the target's root, for a moment

class Merge {
 public:
  Merge(const LayerList& layers, const Layer& target, Below below)
      : view_(layers), target_(target), below_(below) {}

  Result<> directory(const std::string& path, int depth);

 private:
  Result<> entry(const std::string& path, int depth);
  Result<> subdirectory(const std::string& path, const LayerEntry& found, int depth);
  Result<> mark_removed(const std::string& path);
  [[nodiscard]] bool hides_what_is_below(const std::string& path) const;

  LayerView view_;
  const Layer& target_;
  Below below_;
};

Result<> Merge::directory(const std::string& path, int depth) {
  if (depth > kMostDepth)
    return failure(ErrorCode::ResourceExhausted, "the tree of directories is too deep");
  const std::string prefix = path.empty() ? "" : path + "/";
  for (const std::string& name : TRY(view_.names_in(path)))
    TRY(entry(prefix + name, depth));
  return {};
}

Result<> Merge::entry(const std::string& path, int depth) {
  const auto found = TRY(view_.find(path));
  if (!found) return below_ == Below::Something ? mark_removed(path) : Result<>();
  if (found->is_directory()) return subdirectory(path, *found, depth);
  if (::linkat(found->layer->directory(), path.c_str(), target_.directory(), path.c_str(), 0) != 0)
    return syscall_failure("link", path);
  return {};
}

// The highest layer that has the name decides: it is made anew there, or removed in a layer below.
bool Merge::hides_what_is_below(const std::string& path) const {
  for (const auto& layer : view_.layers()) {
    struct stat status {};
    if (::fstatat(layer->directory(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISDIR(status.st_mode)) return true;
  }
  return view_.has_opaque(path);
}

Result<> Merge::subdirectory(const std::string& path, const LayerEntry& found, int depth) {
  if (::mkdirat(target_.directory(), path.c_str(), 0700) != 0) return syscall_failure("make", path);
  const UniqueFd made = TRY(open_beneath(target_.directory(), path,
                                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, Links::Refuse));
  if (below_ == Below::Something && hides_what_is_below(path)) TRY(make_opaque(made.get()));
  TRY(directory(path, depth + 1));
  const timespec times[2] = {found.status.st_atim,
                             found.status.st_mtim};  // NOLINT: as the call has it
  if (::futimens(made.get(), times) != 0 ||
      ::fchmod(made.get(), found.status.st_mode & 07777U) != 0)
    return syscall_failure("finish", path);
  return {};
}

// Renames with RENAME_WHITEOUT: the only way to make a whiteout without privilege.
Result<> Merge::mark_removed(const std::string& path) {
  const int root = target_.directory();
  TRY(open_at(root, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  if (::renameat2(root, path.c_str(), root, kSpare, RENAME_WHITEOUT) != 0)
    return syscall_failure("mark as removed", path);
  if (::unlinkat(root, kSpare, 0) != 0) return syscall_failure("unlink", kSpare);
  return {};
}

}  // namespace

Result<> merge_layers(const LayerList& layers, const Layer& target, Below below) {
  return Merge(layers, target, below).directory("", 0);
}

}  // namespace nutshell::init
