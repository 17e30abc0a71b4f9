// The layers of /workspace as init knows them. Init makes and reads them; mounting is for the host,
// which is asked to by a proposal. Whoever was asked may be killed at any moment, so init never
// takes a proposal for done: it looks at what is mounted, and withdraws what is not before anything
// is written. Not thread-safe; init has one thread.
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
  Layers,  // each state lies over the one before
  Copies,  // where nothing can be stacked: each state is a whole copy
};

class LayerStack {
 public:
  // `store` holds the layers, `base` may be closed. Without a store there are no layers. Where the
  // store cannot bear the marks of layers, there are copies whatever is asked for.
  // `mounted` tells which layer is on top of /workspace.
  using MountedLayer = std::function<Result<std::string>()>;
  LayerStack(const UniqueFd& store, UniqueFd base, Keeping keeping = Keeping::Layers,
             MountedLayer mounted = mounted_layer);

  [[nodiscard]] bool is_there() const { return !layers_.empty(); }
  [[nodiscard]] bool has_base() const { return base_ != nullptr; }

  [[nodiscard]] Keeping keeping() const;

  // Has to succeed before anything writes to /workspace, or is started that could: a proposal that
  // is mounted becomes the stack, and one that is not can no longer be mounted.
  Result<> settle();
  // An error where what is written to /workspace would not get into its layers.
  [[nodiscard]] Result<> check_in_place() const;
  // Adopts a proposal that is mounted; others stand. For whoever only reads.
  Result<> look();

  // What happens from now on goes to a layer of its own. Nothing but init may be alive. Unsupported
  // where there are copies. The change is abandoned once `caller` has expired.
  Result<wire::ChangeBegun> begin(std::string label, std::weak_ptr<const void> caller);
  // The files as they are now can be had again, by the id given.
  Result<wire::ChangeBegun> checkpoint();
  // As they were then; "base": as /workspace began.
  Result<wire::ChangeBegun> rollback(const std::string& id);
  // The host says that it has mounted these; an error where it has not.
  Result<> use(const std::vector<std::string>& names);

  struct Ended {
    std::string label;
    std::vector<PathChange> paths;
    std::string why_not;  // set: not everything is listed, and nothing can be taken back
  };
  [[nodiscard]] bool is_begun(const std::string& id) const { return open_ && open_->id == id; }
  // The id of the change that is begun and not ended; empty: there is none.
  [[nodiscard]] std::string open_change() const { return open_ ? open_->id : std::string(); }
  // Whoever began it is gone, and will not end it.
  [[nodiscard]] bool is_abandoned() const { return open_ && open_->caller.expired(); }
  Result<Ended> end();

  // The host has this now too. False: it is not like that here any more, and stays a change. What
  // lies over the host's own directory needs nothing.
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
  // A stack whose top layer is new, offered to whoever mounts.
  struct Proposal {
    Stack stack;
    LayerOffer offer;
    std::string checkpoint;  // the name of what is below the top; empty: it gets none
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
  // What /workspace shows is none of the layers: a process was killed while it mounted, on a kernel
  // that cannot replace one mount by another in one step.
  bool is_displaced_ = false;
  std::optional<Open> open_;
  std::map<std::string, Stack> checkpoints_;
  std::uint64_t last_layer_ = 0;
  std::uint64_t last_change_ = 0;
  std::uint64_t last_checkpoint_ = 0;
};

}  // namespace nutshell::init
