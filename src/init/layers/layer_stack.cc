#include "init/layers/layer_stack.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/copy_tree.h"
#include "base/file.h"
#include "init/files/version.h"
#include "init/layers/follow_apply.h"
#include "init/layers/merge_layers.h"
#include "init/layers/replace_content.h"

namespace nutshell::init {
namespace {

constexpr const char* kFirstLayer = "workspace";  // what the sandbox was started with
constexpr std::size_t kMergedAtOnce = 8;
constexpr std::size_t kMostPaths = 20'000;
constexpr std::size_t kMostCheckpoints = 32;

Result<std::string> version_of(const LayerEntry& entry, const std::string& path) {
  ContentHash hash;
  const UniqueFd file = TRY(LayerContent(entry.layer, path, 0).open());
  std::string chunk(65536, '\0');
  for (;;) {
    const ssize_t count = ::read(file.get(), chunk.data(), chunk.size());
    if (count < 0) return syscall_failure("read", path);
    if (count == 0) return hash.full_version();
    hash.add({chunk.data(), static_cast<std::size_t>(count)});
  }
}

Result<PathChange> to_path_change(const ChangeWalk::Change& change) {
  PathChange path;
  path.path = "/workspace/" + change.path;
  path.before = image_of(change.before, change.path);
  path.after = image_of(change.after, change.path);
  path.after.content.reset();  // it is on disk
  if (path.after.info.kind == wire::FileKind::Regular)
    path.after_version = TRY(version_of(*change.after, change.path));
  return path;
}

}  // namespace

LayerStack::LayerStack(const UniqueFd& store, UniqueFd base, Keeping keeping)
    : store_(store.get()), keeping_(keeping) {
  if (base) base_ = Layer::base(std::move(base));
  if (!store) return;
  auto first = Layer::open(store_, kFirstLayer);
  if (!first) return;
  layers_.push_back({std::move(*first)});
}

// Tried when it is first asked for: a sandbox for one command never does.
Keeping LayerStack::keeping() const {
  if (!has_tried_marks_ && !layers_.empty()) {
    has_tried_marks_ = true;
    if (!can_be_marked(layers_.front().layer->directory())) keeping_ = Keeping::Copies;
  }
  return keeping_;
}

LayerList LayerStack::whole() const {
  LayerList all;
  if (base_) all.push_back(base_);
  for (const Private& layer : layers_)
    all.push_back(layer.layer);
  return all;
}

std::string LayerStack::new_name() {
  return fmt::format("{:04}", ++last_layer_);
}

bool LayerStack::is_short_of_space() const {
  struct statvfs system {};
  return ::fstatvfs(store_, &system) == 0 && system.f_bavail < system.f_blocks / 2;
}

Result<> LayerStack::merge_from(Stack& stack, std::size_t first) {
  LayerList parts;
  std::uint64_t weight = 0;
  for (std::size_t i = first; i < stack.size(); ++i) {
    parts.push_back(stack[i].layer);
    weight += stack[i].weight;
  }
  const auto target = TRY(Layer::create(store_, new_name()));
  const auto below = base_ || first > 0 ? Below::Something : Below::Nothing;
  TRY(merge_layers(parts, *target, below));
  stack.resize(first);
  stack.push_back({target, weight});
  return {};
}

// Eight of a weight become one, as digits carry: a stack stays short, and a file is touched a
// logarithm of times.
Result<LayerStack::Stack> LayerStack::merged(Stack stack) {
  if (stack.size() >= kMergedAtOnce / 2 && is_short_of_space()) {
    TRY(merge_from(stack, 0));
    return stack;
  }
  while (stack.size() >= kMergedAtOnce) {
    const std::size_t first = stack.size() - kMergedAtOnce;
    const std::uint64_t weight = stack.back().weight;
    const bool is_full =
        std::all_of(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end(),
                    [weight](const Private& layer) { return layer.weight <= weight; });
    if (!is_full) break;
    TRY(merge_from(stack, first));
  }
  return stack;
}

Result<wire::ChangeBegun> LayerStack::propose(Stack below) {
  auto stack = merged(below);
  Stack next = stack ? std::move(*stack) : std::move(below);  // too deep, say: the stack just grows
  next.push_back({TRY(Layer::create(store_, new_name()))});
  wire::ChangeBegun begun;
  begun.way = wire::ChangeWay::NewLayer;
  for (const Private& layer : next)
    begun.layers.push_back(layer.layer->name());
  proposed_ = std::move(next);
  return begun;
}

Result<wire::ChangeBegun> LayerStack::begin(std::string label) {
  if (keeping() == Keeping::Copies) {
    return failure(ErrorCode::Unsupported, "no layers can be stacked here");
  }
  wire::ChangeBegun begun;
  begun.way = wire::ChangeWay::SameLayer;
  proposed_.reset();
  if (!layers_.back().layer->is_empty()) begun = TRY(propose(layers_));
  begun.change_id = fmt::format("l{}", ++last_change_);
  open_ = Open{begun.change_id, std::move(label), (proposed_ ? *proposed_ : layers_).back().layer};
  return begun;
}

Result<wire::ChangeBegun> LayerStack::checkpoint() {
  if (checkpoints_.size() >= kMostCheckpoints) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("there are {} checkpoints already, as many as a sandbox keeps",
                               kMostCheckpoints));
  }
  if (keeping() == Keeping::Copies) return keep_copy();
  wire::ChangeBegun begun;
  begun.way = wire::ChangeWay::SameLayer;
  proposed_.reset();
  Stack kept = layers_;
  if (kept.back().layer->is_empty()) {
    kept.pop_back();
  } else {
    begun = TRY(propose(layers_));
    kept.assign(proposed_->begin(), std::prev(proposed_->end()));
  }
  begun.change_id = fmt::format("c{}", ++last_checkpoint_);
  checkpoints_.emplace(begun.change_id, std::move(kept));
  return begun;
}

Result<wire::ChangeBegun> LayerStack::rollback(const std::string& id) {
  const auto found = checkpoints_.find(id);
  if (found == checkpoints_.end() && id != "base") {
    std::string known;
    for (const auto& [name, stack] : checkpoints_)
      known += (known.empty() ? "" : ", ") + name;
    return failure(ErrorCode::NotFound, fmt::format("no checkpoint '{}': there {}", id,
                                                    known.empty() ? "are none" : "are " + known));
  }
  if (keeping() == Keeping::Copies) {
    const auto& kept = found == checkpoints_.end() ? base_ : found->second.back().layer;
    return bring_back(id, kept.get());
  }
  Stack below = found == checkpoints_.end() ? Stack() : found->second;
  // A stack needs two; without a base the lowest is an empty one.
  if (below.empty() && !base_) below.push_back({TRY(Layer::create(store_, new_name()))});
  open_.reset();
  proposed_.reset();
  wire::ChangeBegun begun = TRY(propose(std::move(below)));
  begun.change_id = id;
  return begun;
}

Result<wire::ChangeBegun> LayerStack::keep_copy() {
  const auto copy = TRY(Layer::create(store_, new_name()));
  TRY(copy_tree(layers_.back().layer->directory(), copy->directory(), Unreadable::Refused));
  wire::ChangeBegun begun;
  begun.way = wire::ChangeWay::SameLayer;
  begun.change_id = fmt::format("c{}", ++last_checkpoint_);
  checkpoints_.emplace(begun.change_id, Stack{{copy}});
  return begun;
}

// The copy is whole before anything is removed: where it does not fit, all stays as it is.
Result<wire::ChangeBegun> LayerStack::bring_back(const std::string& id, const Layer* kept) {
  const auto copy = TRY(Layer::create(store_, new_name()));
  if (kept != nullptr) TRY(copy_tree(kept->directory(), copy->directory(), Unreadable::Refused));
  const auto aside = TRY(Layer::create(store_, new_name()));
  TRY(replace_content({layers_.back().layer, copy, aside}));
  wire::ChangeBegun begun;
  begun.way = wire::ChangeWay::SameLayer;
  begun.change_id = id;
  return begun;
}

Result<> LayerStack::use(const std::vector<std::string>& names) {
  const bool is_proposed =
      proposed_ && std::equal(names.begin(), names.end(), proposed_->begin(), proposed_->end(),
                              [](const std::string& name, const Private& layer) {
                                return name == layer.layer->name();
                              });
  if (!is_proposed) return failure(ErrorCode::InvalidArgument, "these layers were not asked for");
  layers_ = std::move(*proposed_);
  proposed_.reset();
  return {};
}

Result<LayerStack::Ended> LayerStack::end() {
  const Open open = *std::exchange(open_, std::nullopt);
  Ended ended{open.label, {}, {}};
  if (layers_.back().layer != open.top) {
    ended.why_not = "its layer was not stacked, or is not the top one any more";
    return ended;
  }
  LayerList all = whole();
  const std::size_t top = all.size() - 1;
  ChangeWalk walk(std::move(all), top);
  for (;;) {
    const auto change = TRY(walk.next());
    if (!change) return ended;
    if (ended.paths.size() >= kMostPaths) {
      ended.why_not = fmt::format("it changed more than {} files", kMostPaths);
      return ended;
    }
    ended.paths.push_back(TRY(to_path_change(*change)));
  }
}

Result<bool> LayerStack::follow(const wire::FileChange& applied) const {
  if (keeping() != Keeping::Copies || !base_) return true;
  return follow_apply({*base_, layers_.back().layer}, applied);
}

ChangeWalk LayerStack::against_base() const {
  if (keeping() == Keeping::Copies) {
    return ChangeWalk::between(base_ ? LayerList{base_} : LayerList(), {layers_.back().layer});
  }
  return {whole(), base_ ? std::size_t{1} : std::size_t{0}};
}

Result<std::optional<LayerEntry>> LayerStack::find_in_base(const std::string& path) const {
  if (!base_) return std::optional<LayerEntry>();
  return LayerView({base_}).find(path);
}

}  // namespace nutshell::init
