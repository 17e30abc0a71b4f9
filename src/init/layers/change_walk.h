// Finds the differences between two stacks of layers by looking only at the layers that one of them
// has: the rest of the tree, however large, costs nothing.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "init/layers/layer_view.h"

namespace nutshell::init {

class ChangeWalk {
 public:
  struct Change {
    std::string path;  // relative to /workspace
    std::optional<LayerEntry> before;
    std::optional<LayerEntry> after;
  };

  // `layers` are the whole stack; the change is in those from `first_changed` on.
  ChangeWalk(LayerList layers, std::size_t first_changed);
  // Compares two trees that share no layers: reads all of both.
  static ChangeWalk between(LayerList before, const LayerList& after);

  // Returns the next change, parents before children and names in byte order; nullopt at the end.
  Result<std::optional<Change>> next();

 private:
  struct Level {
    std::string path;  // empty, or ending in a slash
    std::vector<std::string> names;
    std::size_t position = 0;
  };
  ChangeWalk(LayerList before, const LayerList& after);
  Result<> enter(const std::string& path, bool was_directory, bool is_directory);
  Result<> descend(const Change& change);

  LayerView before_;
  LayerView changed_;
  LayerView after_;
  std::vector<Level> levels_;
  bool has_begun_ = false;
  bool looks_at_all_ = false;
};

}  // namespace nutshell::init
