// Init's side of an offer (core/layer_names.h): the permission to mount one new layer.
#pragma once

#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::init {

class LayerOffer {
 public:
  static Result<LayerOffer> create(int store, const std::string& layer);
  LayerOffer(LayerOffer&& other) noexcept = default;
  LayerOffer& operator=(LayerOffer&&) = delete;
  ~LayerOffer();  // removes the file

  // Whether the process that mounts the layer removed the file, as its last step. False may also
  // mean that it was killed before that step, or that the offer is withdrawn.
  [[nodiscard]] bool is_taken() const;

  // Waits for a process that is mounting just now. Afterwards the layer cannot be mounted any more;
  // the mount table tells whether it was.
  Result<> withdraw(const Deadline& deadline);

 private:
  LayerOffer(int store, std::string name, UniqueFd file)
      : store_(store), name_(std::move(name)), file_(std::move(file)) {}

  int store_;  // not owned
  std::string name_;
  UniqueFd file_;  // closed once moved from
  bool is_withdrawn_ = false;
};

}  // namespace nutshell::init
