#include "init/layers/save_layers.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "core/layer_names.h"
#include "init/layers/change_walk.h"
#include "init/layers/changes_conversation.h"
#include "init/layers/mounted_layer.h"

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

Result<> save_content(const ChangeWalk::Change& change, std::uint64_t size,
                      saved::ArchiveWriter& archive) {
  const UniqueFd file = TRY(LayerContent(change.after->layer, change.path, size).open());
  std::string chunk(kChunkBytes, '\0');
  while (size > 0) {
    const ssize_t count =
        ::read(file.get(), chunk.data(), std::min<std::uint64_t>(size, kChunkBytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return syscall_failure("read", change.path);
    if (count == 0) return failure(ErrorCode::Internal, change.path + " is shorter than it was");
    TRY(archive.add_content({chunk.data(), static_cast<std::size_t>(count)}));
    size -= static_cast<std::uint64_t>(count);
  }
  return {};
}

}  // namespace

Result<> save_layers(const saved::LayersToSave& layers, saved::ArchiveWriter& archive) {
  ChangeWalk walk = TRY(walk_of(layers));
  for (;;) {
    const auto change = TRY(walk.next());
    if (!change) return {};
    const wire::FileChange described = describe_change(*change);
    TRY(archive.add(described));
    if (described.after.kind == wire::FileKind::Regular)
      TRY(save_content(*change, described.after.size, archive));
  }
}

}  // namespace nutshell::init
