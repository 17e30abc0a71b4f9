#include "saved/restore_caches.h"

#include <fmt/format.h>

#include "base/beneath.h"
#include "core/sandbox_spec.h"
#include "saved/kept_caches.h"

namespace nutshell::saved {
namespace {

using wire::FileKind;

bool has_plain_names(std::string_view path) {
  for (;;) {
    const std::size_t end = path.find('/');
    if (!is_plain_name(path.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    path.remove_prefix(end + 1);
  }
}

Result<> check_path(const wire::FileChange& change) {
  const CachePlace place = cache_place(change.path);
  const bool is_directory = change.after.kind == FileKind::Directory;
  const bool is_known = place == CachePlace::Within || (place == CachePlace::Above && is_directory);
  if (is_known && has_plain_names(change.path)) return {};
  return failure(ErrorCode::Corrupt,
                 fmt::format("the kept caches name a path that is no cache: {:.200}", change.path));
}

Result<> restore_one(wire::InitClient& init, ArchiveReader& archive,
                     const wire::FileChange& change) {
  const std::string path = fmt::format("{}/{}", kHomeDirectory, change.path);
  const std::uint32_t mode = change.after.mode & 0777U;
  switch (change.after.kind) {
    case FileKind::Directory:  // its files are written after it, so it must be writable
      return init.make_directory({path, mode | 0700U, wire::IfExists::Accept});
    case FileKind::Link:
      return init.make_link({path, change.after.target});
    case FileKind::Regular:
      return init.write_file({path, mode, 0, 0},
                             [&](std::size_t most) { return archive.read_content(most); });
    default:
      return {};
  }
}

}  // namespace

Result<> restore_caches(wire::InitClient& init, ArchiveReader& archive) {
  for (;;) {
    const auto change = TRY(archive.next());
    if (!change) return {};
    TRY(check_path(*change));
    auto restored = restore_one(init, archive, *change);
    if (!restored) return while_doing("restore " + change->path, std::move(restored).error());
  }
}

}  // namespace nutshell::saved
