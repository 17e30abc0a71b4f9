// The layers of /workspace. Init makes and reads them; the host mounts them when init proposes a
// new stack. The mounting process may be killed at any moment, so init never assumes that a
// proposal was carried out: it looks at the mount table, and withdraws a proposal that is not
// mounted before anything is written. Not thread-safe; init has one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "init/files/change_journal.h"
#include "init/layers/change_walk.h"
#include "init/layers/layer_offer.h"
#include "init/layers/layer_view.h"
#include "init/layers/mounted_layer.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

enum class Keeping {
  Layers,  // each state is a layer over the one before
  Copies,  // each state is a whole copy, where layers cannot be mounted
};

class LayerStack {
 public:
  // `store` holds the layers, `base` may be closed. Without a store there are no layers. If the
  // store cannot keep the attributes of layers, copies are used whatever `states` says. `mounted`
  // tells which layer is on top of /workspace.
  using MountedLayer = std::function<Result<std::string>()>;
  LayerStack(const UniqueFd& store, UniqueFd base, Keeping keeping = Keeping::Layers,
             MountedLayer mounted = mounted_layer);

  [[nodiscard]] bool is_there() const { return !layers_.empty(); }

  [[nodiscard]] Keeping keeping() const;

  // Must succeed before anything writes to /workspace, or a process starts that could: a proposal
  // that is mounted becomes the stack, and one that is not can no longer be mounted.
  Result<> settle();
  // Fails if writes to /workspace would not get into its layers.
  [[nodiscard]] Result<> check_in_place() const;
  // Adopts a proposal that is mounted, and leaves others open. Enough for callers that only read.
  Result<> look();

  // Begins a change: writes go to a new layer. No process but init may live. Unsupported with
  // copies. The change is abandoned once `caller` has expired.
  Result<wire::ChangeBegun> begin(std::string label, std::weak_ptr<const void> caller);
  // Keeps the files as they are now under the id.
  Result<wire::ChangeBegun> checkpoint();
  // Goes back to the files of the checkpoint; "base" is the first content of /workspace.
  Result<wire::ChangeBegun> rollback(const std::string& id);
  // Called when the host says that it has mounted these; fails if it has not.
  Result<> use(const std::vector<std::string>& names);

  struct Ended {
    std::string label;
    std::vector<PathChange> paths;
    std::string why_not;  // if set, the list is incomplete, and nothing can be taken back
  };
  [[nodiscard]] bool is_begun(const std::string& id) const { return open_ && open_->id == id; }
  // The id of the change that is begun and not ended; empty if there is none.
  [[nodiscard]] std::string open_change() const { return open_ ? open_->id : std::string(); }
  // Whether the caller that began the change is gone, and will not end it.
  [[nodiscard]] bool is_abandoned() const { return open_ && open_->caller.expired(); }
  Result<Ended> end();

  // Called when the host has applied this change. Returns false if the path has changed since, and
  // stays a change. Layers over the host's own directory need no update.
  [[nodiscard]] Result<bool> follow(const wire::FileChange& applied) const;
  [[nodiscard]] ChangeWalk against_base() const;
  [[nodiscard]] Result<std::optional<LayerEntry>> find_in_base(const std::string& path) const;

 private:
  struct Private {
    std::shared_ptr<const Layer> layer;
    std::uint64_t weight = 1;  // how many were merged into it
  };
  using Stack = std::vector<Private>;
  struct Open {
    std::string id;
    std::string label;
    std::shared_ptr<const Layer> top;
    std::weak_ptr<const void> caller;
  };
  // A stack whose top layer is new, offered to the mounting process.
  struct Proposal {
    Stack stack;
    LayerOffer offer;
    std::string checkpoint;  // the name of the state below the top; empty: none
    [[nodiscard]] const std::shared_ptr<const Layer>& top() const { return stack.back().layer; }
  };

  void adopt();
  Result<wire::ChangeBegun> propose(Stack below);
  Result<wire::ChangeBegun> keep_copy();
  Result<wire::ChangeBegun> bring_back(const std::string& id, const Layer* kept);
  Result<Stack> merged(Stack stack);
  Result<> merge_from(Stack& stack, std::size_t first);
  [[nodiscard]] bool is_short_of_space() const;
  [[nodiscard]] LayerList whole() const;
  std::string new_name();

  int store_;
  mutable Keeping keeping_;
  mutable bool has_tried_marks_ = false;
  std::shared_ptr<const Layer> base_;
  Stack layers_;  // lowest first
  MountedLayer mounted_;
  std::optional<Proposal> proposed_;
  // /workspace shows none of the layers: a process was killed while it mounted, on a kernel that
  // cannot replace one mount by another in one step.
  bool is_displaced_ = false;
  std::optional<Open> open_;
  std::map<std::string, Stack> checkpoints_;
  std::uint64_t last_layer_ = 0;
  std::uint64_t last_change_ = 0;
  std::uint64_t last_checkpoint_ = 0;
};

}  // namespace nutshell::init
