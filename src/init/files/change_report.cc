#include "init/files/change_report.h"

#include <fmt/format.h>

#include "init/files/version.h"

namespace nutshell::init {
namespace {

// A reply lists a bounded number of changes; the total is exact.
constexpr std::size_t kMostListed = 50;

wire::FileInfo told(const Image& image) {
  wire::FileInfo info = image.info;
  info.path.clear();
  return info;
}

wire::FileChange change_of(const FilesState& state, const PathChange& change) {
  using enum wire::ChangeKind;
  auto kind = Modified;
  if (!change.before.is_there()) kind = Added;
  if (!change.after.is_there()) kind = Removed;
  return {state.roots.relative(change.path), kind, told(change.before), told(change.after)};
}

}  // namespace

void list_changes(const FilesState& state, const std::vector<PathChange>& paths,
                  wire::Changed& changed) {
  changed.total_changes = paths.size();
  for (std::size_t i = 0; i < paths.size() && i < kMostListed; ++i)
    changed.changes.push_back(change_of(state, paths[i]));
}

wire::Changed report_change(FilesState& state, Made made) {
  wire::Changed changed;
  list_changes(state, made.paths, changed);
  if (made.paths.empty() && made.why_not.empty()) return changed;
  changed.why_no_undo = std::move(made.why_not);
  if (!changed.why_no_undo.empty()) return changed;
  changed.undo_id = state.journal.record(std::move(made.label), std::move(made.paths));
  if (changed.undo_id.empty()) {
    changed.why_no_undo = fmt::format("it replaced more than the {} MiB that are kept for undo",
                                      ChangeJournal::kMostBytes >> 20U);
  }
  return changed;
}

Refusal refuse_stale(std::string_view shown, std::string_view expected, std::string_view now) {
  const std::string file = printable(shown);
  return refuse(
      ErrorCode::Stale,
      now.empty() ? fmt::format("{} is not there any more.", file)
                  : fmt::format("{} changed since v{} (now v{}).", file, printable(expected), now),
      {}, "Read again before writing.");
}

}  // namespace nutshell::init
