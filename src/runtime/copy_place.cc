#include "runtime/copy_place.h"

#include <fmt/format.h>

#include <climits>

#include "base/beneath.h"

namespace nutshell {
namespace {

std::string_view without_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/'))
    path.remove_suffix(1);
  return path;
}

}  // namespace

Result<Place> choose_place(wire::FileKind source, TargetKind target_kind,
                           const std::string& target) {
  if (target.empty()) return failure(ErrorCode::InvalidArgument, "no target to copy to");
  if (target_kind == TargetKind::Directory) return Place::Inside;
  const bool is_tree = source == wire::FileKind::Directory;
  if (target_kind == TargetKind::Other && (is_tree || target.ends_with('/'))) {
    return failure(ErrorCode::AlreadyExists,
                   fmt::format("{} is there and is no directory", target));
  }
  if (target_kind == TargetKind::Nothing && !is_tree && target.ends_with('/')) {
    return failure(ErrorCode::NotFound, fmt::format("there is no directory {}", target));
  }
  return Place::AsNamed;
}

std::string last_name(std::string_view path) {
  path = without_slashes(path);
  const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  return is_plain_name(name) ? std::string(name) : std::string();
}

Result<std::pair<std::string, std::string>> split_target(const std::string& target) {
  std::string name = last_name(target);
  if (name.empty()) {
    return failure(ErrorCode::InvalidArgument, fmt::format("'{}' names no file", target));
  }
  const std::string_view whole = without_slashes(target);
  const std::string_view parent = whole.substr(0, whole.size() - name.size());
  return std::pair(parent.empty() ? std::string(".") : std::string(parent), std::move(name));
}

Result<> check_path_below(std::string_view path) {
  std::size_t depth = 0;
  for (std::string_view left = path;; ++depth) {
    const std::size_t slash = left.find('/');
    const std::string_view name = left.substr(0, slash);
    if (!is_plain_name(name) || name.size() > NAME_MAX) {
      return failure(ErrorCode::Corrupt,
                     "the sandbox names an entry that leads out of its directory");
    }
    if (slash == std::string_view::npos) break;
    left.remove_prefix(slash + 1);
  }
  if (depth < kMostCopyDepth) return {};
  return failure(ErrorCode::ResourceExhausted,
                 fmt::format("the tree is more than {} directories deep", kMostCopyDepth));
}

Failure no_parent(const std::string& parent, const std::string& target) {
  return failure(
      ErrorCode::NotFound,
      fmt::format("copy to {}: there is no directory {}: make it first", target, parent));
}

}  // namespace nutshell
