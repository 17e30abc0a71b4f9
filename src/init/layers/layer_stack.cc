#include "init/layers/layer_stack.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/copy_tree.h"
#include "base/file.h"
#include "core/layer_names.h"
#include "init/files/version.h"
#include "init/layers/follow_apply.h"
#include "init/layers/merge_layers.h"
#include "init/layers/replace_content.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

constexpr auto kMountTime = 12s;  // the host kills a process that mounts for longer than ten
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

LayerStack::LayerStack(const UniqueFd& store, UniqueFd base, Keeping keeping, MountedLayer mounted)
    : store_(store.get()), keeping_(keeping), mounted_(std::move(mounted)) {
  if (base) base_ = Layer::base(std::move(base));
  if (!store) return;
  auto first = Layer::open(store_, kFirstLayer);
  if (!first) return;
  layers_.push_back({std::move(*first)});
}

// Tried when layers are first needed: a sandbox for one command never needs them.
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

// Eight layers of the same weight become one, as digits carry: the stack stays short, and each file
// is merged a logarithmic number of times.
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
  // If they cannot be merged (too deep, for example), the stack just grows.
  Stack next = stack ? std::move(*stack) : std::move(below);
  next.push_back({TRY(Layer::create(store_, new_name()))});
  LayerOffer offer = TRY(LayerOffer::create(store_, next.back().layer->name()));
  wire::ChangeBegun begun;
  begun.way = wire::ChangeWay::NewLayer;
  for (const Private& layer : next)
    begun.layers.push_back(layer.layer->name());
  proposed_.emplace(Proposal{std::move(next), std::move(offer), {}});
  return begun;
}

void LayerStack::adopt() {
  if (!proposed_->checkpoint.empty()) {
    checkpoints_.emplace(proposed_->checkpoint,
                         Stack(proposed_->stack.begin(), std::prev(proposed_->stack.end())));
  }
  layers_ = std::move(proposed_->stack);
  proposed_.reset();
  is_displaced_ = false;
}

Result<> LayerStack::look() {
  if (!proposed_) return {};
  const bool is_mounted =
      proposed_->offer.is_taken() || TRY(mounted_()) == proposed_->top()->name();
  if (is_mounted) adopt();
  return {};
}

Result<> LayerStack::settle() {
  if (!proposed_) return {};
  if (!proposed_->offer.is_taken()) TRY(proposed_->offer.withdraw(Deadline::in(kMountTime)));
  TRY(look());
  if (!proposed_) return {};
  is_displaced_ = TRY(mounted_()) != layers_.back().layer->name();
  if (open_ && open_->top == proposed_->top()) open_.reset();
  proposed_.reset();
  return {};
}

Result<> LayerStack::check_in_place() const {
  if (!is_displaced_) return {};
  return failure(ErrorCode::Unavailable,
                 "/workspace lost its files when a process was killed while it mounted them; "
                 "'nutshell checkpoint' mounts them again");
}

Result<wire::ChangeBegun> LayerStack::begin(std::string label, std::weak_ptr<const void> caller) {
  if (keeping() == Keeping::Copies) {
    return failure(ErrorCode::Unsupported, "no layers can be stacked here");
  }
  TRY(settle());
  wire::ChangeBegun begun;
  begun.way = wire::ChangeWay::SameLayer;
  if (is_displaced_ || !layers_.back().layer->is_empty()) begun = TRY(propose(layers_));
  begun.change_id = fmt::format("l{}", ++last_change_);
  open_ = Open{begun.change_id, std::move(label),
               proposed_ ? proposed_->top() : layers_.back().layer, std::move(caller)};
  return begun;
}

Result<wire::ChangeBegun> LayerStack::checkpoint() {
  if (checkpoints_.size() >= kMostCheckpoints) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("there are {} checkpoints already, as many as a sandbox keeps",
                               kMostCheckpoints));
  }
  if (keeping() == Keeping::Copies) return keep_copy();
  TRY(settle());
  wire::ChangeBegun begun;
  begun.way = wire::ChangeWay::SameLayer;
  const std::string id = fmt::format("c{}", ++last_checkpoint_);
  if (!is_displaced_ && layers_.back().layer->is_empty()) {
    checkpoints_.emplace(id, Stack(layers_.begin(), std::prev(layers_.end())));
  } else {
    begun = TRY(propose(layers_));
    proposed_->checkpoint = id;  // valid once the new layer is mounted
  }
  begun.change_id = id;
  return begun;
}

Result<wire::ChangeBegun> LayerStack::rollback(const std::string& id) {
  TRY(settle());
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
  // The kernel needs two layers; without a base the lowest is empty.
  if (below.empty() && !base_) below.push_back({TRY(Layer::create(store_, new_name()))});
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

// Copies everything before it removes anything: if the copy does not fit, nothing changes.
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
  TRY(look());
  // Each top layer has a unique name, which identifies the whole stack.
  const bool is_used = !names.empty() && names.back() == layers_.back().layer->name();
  if (is_used) return {};
  return failure(ErrorCode::Unavailable,
                 "these layers are not what is mounted, or were withdrawn for another call");
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
