// What a stack of layers shows, asked without mounting it.
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

// Shared: a change that can be taken back needs the layers its old files lie in.
using LayerList = std::vector<std::shared_ptr<const Layer>>;  // lowest first

struct LayerEntry {
  std::shared_ptr<const Layer> layer;  // the highest that has it
  struct stat status {};

  [[nodiscard]] bool is_directory() const { return S_ISDIR(status.st_mode); }
};

class LayerView {
 public:
  explicit LayerView(LayerList layers) : layers_(std::move(layers)) {}

  // Paths are relative to /workspace; "" is its root. Nothing: the path is not there.
  [[nodiscard]] Result<std::optional<LayerEntry>> find(const std::string& path) const;
  // The names in a directory, sorted; whether they are still there is for find() to say.
  [[nodiscard]] Result<std::set<std::string>> names_in(const std::string& path) const;
  // One of the layers hides with this directory what the layers below have there.
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

// The entry as the journal keeps it; nothing there for none.
Image image_of(const std::optional<LayerEntry>& entry, const std::string& path);

// Kind, permissions, target and bytes. Times and owners do not count.
Result<bool> is_same(const LayerEntry& left, const LayerEntry& right, const std::string& path);

}  // namespace nutshell::init
