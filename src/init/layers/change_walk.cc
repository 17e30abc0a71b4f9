#include "init/layers/change_walk.h"

#include <fmt/format.h>

namespace nutshell::init {
namespace {

// Each level is a path that is opened from the top; deeper trees are refused with an error.
constexpr std::size_t kMostLevels = 512;

LayerList part_of(const LayerList& layers, std::size_t first, std::size_t end) {
  return {layers.begin() + static_cast<std::ptrdiff_t>(first),
          layers.begin() + static_cast<std::ptrdiff_t>(end)};
}

bool is_directory(const std::optional<LayerEntry>& entry) {
  return entry && entry->is_directory();
}

}  // namespace

ChangeWalk::ChangeWalk(LayerList layers, std::size_t first_changed)
    : before_(part_of(layers, 0, first_changed)),
      changed_(part_of(layers, first_changed, layers.size())),
      after_(std::move(layers)) {}

ChangeWalk::ChangeWalk(LayerList before, const LayerList& after)
    : before_(std::move(before)), changed_(after), after_(after), looks_at_all_(true) {}

ChangeWalk ChangeWalk::between(LayerList before, const LayerList& after) {
  return {std::move(before), after};
}

Result<> ChangeWalk::enter(const std::string& path, bool was_directory, bool is_directory) {
  if (levels_.size() >= kMostLevels) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("{}: more than {} directories deep", path, kMostLevels));
  }
  std::set<std::string> names;
  if (is_directory) names = TRY(changed_.names_in(path));
  // Names that the changed layers do not have are unchanged, unless the directory was removed or
  // made anew.
  if (was_directory && (!is_directory || looks_at_all_ || changed_.has_opaque(path))) {
    names.merge(TRY(before_.names_in(path)));
  }
  levels_.push_back({path.empty() ? "" : path + "/", {names.begin(), names.end()}});
  return {};
}

Result<> ChangeWalk::descend(const Change& change) {
  const bool was = is_directory(change.before);
  const bool is = is_directory(change.after);
  if (is ? changed_.has_directory(change.path) : was) return enter(change.path, was, is);
  return {};
}

Result<std::optional<ChangeWalk::Change>> ChangeWalk::next() {
  if (!std::exchange(has_begun_, true)) TRY(enter("", true, true));
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.position == level.names.size()) {
      levels_.pop_back();
      continue;
    }
    Change change{level.path + level.names[level.position++], {}, {}};
    change.before = TRY(before_.find(change.path));
    change.after = TRY(after_.find(change.path));
    if (!change.before && !change.after) continue;
    TRY(descend(change));
    const bool is_changed = !change.before || !change.after ||
                            !TRY(is_same(*change.before, *change.after, change.path));
    if (is_changed) return std::optional(std::move(change));
  }
  return std::optional<Change>();
}

}  // namespace nutshell::init
