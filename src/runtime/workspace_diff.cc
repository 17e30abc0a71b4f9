#include "runtime/workspace_diff.h"

#include "core/line_diff.h"

namespace nutshell {
namespace {

using wire::FileInfo;
using wire::FileKind;
using wire::FileState;

Result<PatchSide> side_of(wire::InitClient& client, const FileInfo& info, const std::string& path,
                          FileState state) {
  using enum PatchSide::Kind;
  switch (info.kind) {
    case FileKind::Link:
      return PatchSide{Link, info.target};
    case FileKind::Regular:
      return PatchSide{(info.mode & 0100U) != 0 ? Executable : File,
                       TRY(read_changed_file(client, info, path, state))};
    default:
      return PatchSide{};  // git knows no directories, FIFOs or sockets
  }
}

}  // namespace

Result<FileDifference> difference_of(wire::InitClient& client, const wire::FileChange& change,
                                     BinaryForm form) {
  const PatchSide before = TRY(side_of(client, change.before, change.path, FileState::Base));
  const PatchSide after = TRY(side_of(client, change.after, change.path, FileState::Now));
  FileDifference difference;
  difference.patch = git_patch(change.path, before, after, form);
  difference.is_binary = is_binary(before.content) || is_binary(after.content);
  if (difference.is_binary) return difference;
  const DiffOptions options;
  for (const LineChange& lines :
       diff_lines(split_lines(before.content), split_lines(after.content), options.most_steps)) {
    difference.lines_added += lines.new_count;
    difference.lines_removed += lines.old_count;
  }
  return difference;
}

}  // namespace nutshell
