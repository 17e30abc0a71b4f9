#include "init/files/undo.h"

#include <fmt/format.h>

#include "init/files/change_report.h"
#include "init/files/restoration.h"
#include "init/files/version.h"

namespace nutshell::init {
namespace {

Attempt<const ChangeJournal::Change*> find_change(const FilesState& state, const std::string& id) {
  const auto* change = id.empty() ? state.journal.newest_undoable() : state.journal.find(id);
  if (change == nullptr) {
    if (id.empty()) return refuse(ErrorCode::Expired, "There is no change to take back.");
    if (!state.journal.was_given(id)) {
      return refuse(ErrorCode::InvalidArgument,
                    fmt::format("There is no change {}.", printable(id)));
    }
    return refuse(ErrorCode::Expired, fmt::format("{} is no longer kept.", printable(id)),
                  fmt::format("The last {} changes are, up to {} MiB.", ChangeJournal::kMostChanges,
                              ChangeJournal::kMostBytes >> 20U));
  }
  if (change->undone_by.empty()) return change;
  return refuse(ErrorCode::Conflict,
                fmt::format("{} was taken back already, by {}.", change->id, change->undone_by), {},
                fmt::format("Undo {} to have it again.", change->undone_by));
}

}  // namespace

Attempt<wire::Changed> undo_change(FilesState& state, const wire::Undo& request) {
  const auto change = find_change(state, request.id);
  if (!change) return Refusal(change.error());
  const std::string id = (*change)->id;
  Restoration restoration(state.roots, (*change)->paths);
  auto looked = restoration.look();
  if (!looked) return Refusal(std::move(looked).error());
  auto restored = restoration.restore();
  if (!restored) return Refusal(std::move(restored).error());
  Restoration::Done done = restoration.done();
  wire::Changed changed;
  list_changes(state, done.paths, changed);
  if (done.paths.size() == 1) changed.version = short_version(done.paths.front().after_version);
  // record_undo() returns no id for a change that is too large to be kept.
  if (!done.why_not.empty()) done.paths.clear();
  changed.undo_id = state.journal.record_undo(id, std::move(done.paths));
  if (changed.undo_id.empty()) {
    changed.why_no_undo = done.why_not.empty() ? "it is too large to be kept" : done.why_not;
  }
  return changed;
}

}  // namespace nutshell::init
