#include "runtime/change_writer.h"

#include <fmt/format.h>

#include "runtime/workspace_changes.h"

namespace nutshell {
namespace {

using wire::FileKind;

std::string inside(const std::string& path) {
  return std::string(kWorkspacePath) + path;
}

}  // namespace

Result<> ChangeWriter::remove(const std::string& path) {
  auto answer = TRY(to_.call<wire::Changed>(wire::Remove{inside(path), 1}));
  const auto* refused = std::get_if<wire::Refused>(&answer);
  // It may have gone with its directory.
  if (refused == nullptr || refused->code == ErrorCode::NotFound) return {};
  return failure(ErrorCode::Internal, fmt::format("{} {}", refused->what, refused->why));
}

Result<> ChangeWriter::write(const wire::FileChange& change, const ReadPart& read) {
  const bool stays =
      change.before.kind == FileKind::Directory && change.after.kind == FileKind::Directory;
  if (change.before.kind != kNoFile && !stays && change.before.kind != change.after.kind)
    TRY(remove(change.path));
  switch (change.after.kind) {
    case FileKind::Directory:
      return to_.make_directory({inside(change.path), change.after.mode | 0700U,
                                 stays ? wire::IfExists::SetMode : wire::IfExists::Accept});
    case FileKind::Link:
      return to_.make_link({inside(change.path), change.after.target});
    case FileKind::Regular:
      return to_.write_file({inside(change.path), change.after.mode, 0, 0}, read);
    default:
      return {};
  }
}

}  // namespace nutshell
