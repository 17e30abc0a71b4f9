// Reads the files that a stack of layers shows, without mounting it.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "init/files/change_journal.h"
#include "init/layers/layer.h"

namespace nutshell::init {

// Shared, because changes that can be taken back need the layers with their old files.
using LayerList = std::vector<std::shared_ptr<const Layer>>;  // lowest first

struct LayerEntry {
  std::shared_ptr<const Layer> layer;  // the highest that has it
  struct stat status {};

  [[nodiscard]] bool is_directory() const { return S_ISDIR(status.st_mode); }
};

class LayerView {
 public:
  explicit LayerView(LayerList layers) : layers_(std::move(layers)) {}

  // Paths are relative to /workspace; "" is its root. Returns nullopt if there is no such path.
  [[nodiscard]] Result<std::optional<LayerEntry>> find(const std::string& path) const;
  // The names in a directory, sorted; some may be removed, which find() tells.
  [[nodiscard]] Result<std::set<std::string>> names_in(const std::string& path) const;
  // Whether one of the layers hides this directory of the layers below.
  [[nodiscard]] bool has_opaque(const std::string& path) const;
  [[nodiscard]] bool has_directory(const std::string& path) const;

  [[nodiscard]] const LayerList& layers() const { return layers_; }

 private:
  LayerList layers_;
};

// A file in a layer that is not written to any more.
class LayerContent : public Content {
 public:
  LayerContent(std::shared_ptr<const Layer> layer, std::string path, std::uint64_t bytes)
      : layer_(std::move(layer)), path_(std::move(path)), bytes_(bytes) {}
  [[nodiscard]] Result<UniqueFd> open() const override;
  [[nodiscard]] std::uint64_t bytes_kept() const override { return layer_->is_base() ? 0 : bytes_; }

 private:
  std::shared_ptr<const Layer> layer_;
  std::string path_;
  std::uint64_t bytes_;
};

// The entry as the journal keeps it; kNothingThere if there is none.
Image image_of(const std::optional<LayerEntry>& entry, const std::string& path);

// Compares kind, permissions, target and bytes, but not times and owners.
Result<bool> is_same(const LayerEntry& left, const LayerEntry& right, const std::string& path);

}  // namespace nutshell::init
