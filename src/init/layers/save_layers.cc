#include "init/layers/save_layers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/beneath.h"
#include "base/file.h"
#include "core/layer_names.h"
#include "core/sandbox_spec.h"
#include "init/layers/change_walk.h"
#include "init/layers/changes_conversation.h"
#include "init/layers/mounted_layer.h"
#include "saved/kept_caches.h"

namespace nutshell::init {
namespace {

constexpr std::size_t kChunkBytes = 64U << 10U;

// Layer::base() leaves the directory alone at its end.
Result<std::shared_ptr<const Layer>> open_layer(int store, const std::string& name) {
  return Layer::base(TRY(open_at(store, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)));
}

Result<ChangeWalk> walk_of(const saved::LayersToSave& layers) {
  LayerList base;
  if (layers.base >= 0) {
    UniqueFd directory(::fcntl(layers.base, F_DUPFD_CLOEXEC, 0));
    if (!directory) return syscall_failure("fcntl", "F_DUPFD_CLOEXEC");
    base.push_back(Layer::base(std::move(directory)));
  }
  if (layers.is_copied)
    return ChangeWalk::between(std::move(base), {TRY(open_layer(layers.store, kFirstLayer))});
  const std::size_t first = base.size();
  for (const std::string& name : TRY(mounted_layers_in(layers.mount_table)))
    base.push_back(TRY(open_layer(layers.store, name)));
  return ChangeWalk(std::move(base), first);
}

Result<UniqueFd> open_content(const ChangeWalk::Change& change, std::uint64_t size) {
  return LayerContent(change.after->layer, change.path, size).open();
}

Result<> save_content(const UniqueFd& file, const std::string& path, std::uint64_t size,
                      saved::ArchiveWriter& archive) {
  std::string chunk(kChunkBytes, '\0');
  while (size > 0) {
    const ssize_t count =
        ::read(file.get(), chunk.data(), std::min<std::uint64_t>(size, kChunkBytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return syscall_failure("read", path);
    if (count == 0) return failure(ErrorCode::Internal, path + " is shorter than it was");
    TRY(archive.add_content({chunk.data(), static_cast<std::size_t>(count)}));
    size -= static_cast<std::uint64_t>(count);
  }
  return {};
}

Result<> save_workspace(const saved::LayersToSave& layers, saved::ArchiveWriter& archive) {
  ChangeWalk walk = TRY(walk_of(layers));
  for (;;) {
    const auto change = TRY(walk.next());
    if (!change) return {};
    const wire::FileChange described = describe_change(*change);
    TRY(archive.add(described));
    if (described.after.kind != wire::FileKind::Regular) continue;
    const UniqueFd file = TRY(open_content(*change, described.after.size));
    TRY(save_content(file, described.path, described.after.size, archive));
  }
}

// ---- Caches -------------------------------------------------------------------------------------

Result<> add_directory(const std::string& path, saved::ArchiveWriter& archive) {
  wire::FileChange made;
  made.path = path;
  made.kind = wire::ChangeKind::Added;
  made.after.kind = wire::FileKind::Directory;
  made.after.mode = 0755;
  return archive.add(made);
}

// The directories that lead to the cache, and the cache.
Result<> add_directories(const std::string& cache, saved::ArchiveWriter& archive) {
  for (std::size_t end = cache.find('/'); end != std::string::npos; end = cache.find('/', end + 1))
    TRY(add_directory(cache.substr(0, end), archive));
  return add_directory(cache, archive);
}

// Leaves out files that the sandbox has made unreadable, sockets and the like.
Result<> save_cache(const std::string& cache, UniqueFd directory, saved::ArchiveWriter& archive) {
  TRY(add_directories(cache, archive));
  ChangeWalk walk = ChangeWalk::between({}, {Layer::base(std::move(directory))});
  for (;;) {
    const auto change = TRY(walk.next());
    if (!change) return {};
    wire::FileChange described = describe_change(*change);
    described.path = cache + '/' + described.path;
    const wire::FileInfo& after = described.after;
    if (after.kind == wire::FileKind::Other) continue;
    if (after.kind != wire::FileKind::Regular) {
      TRY(archive.add(described));
      continue;
    }
    const auto file = open_content(*change, after.size);
    if (!file) continue;
    TRY(archive.add(described));
    TRY(save_content(*file, described.path, after.size, archive));
  }
}

// The store holds what the sandbox sees as /tmp. A link in place of a cache is not followed.
Result<> save_caches(int store, saved::ArchiveWriter& archive) {
  const std::string home = kHomeDirectory + 1;
  for (const std::string_view cache : saved::kCacheDirectories) {
    auto directory = open_beneath(store, fmt::format("{}/{}", home, cache),
                                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, Links::Refuse);
    if (directory) TRY(save_cache(std::string(cache), std::move(*directory), archive));
  }
  return {};
}

}  // namespace

Result<> save_layers(const saved::LayersToSave& layers, saved::ArchiveWriter& archive) {
  return layers.what == saved::Saved::Caches ? save_caches(layers.store, archive)
                                             : save_workspace(layers, archive);
}

}  // namespace nutshell::init
