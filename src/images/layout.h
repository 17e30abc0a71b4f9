// An image as files: an OCI layout, or what `docker save` writes. Every digest is checked; no path
// leads out of the directory.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "images/manifest.h"

namespace nutshell::images {

struct LayerSource {
  UniqueFd file;
  std::string diff_id;  // what its content has to be
  std::string digest;   // what the file has to be; empty: the archive does not say
};

struct ImagePlan {
  std::string id;  // digest of its configuration
  ImageConfig config;
  std::vector<LayerSource> layers;
  std::string name;  // as its maker called it; may be empty, and is anything
};

enum class LayoutKind { Oci, DockerSave, None };
LayoutKind kind_of_layout(int directory);

// `wanted` is the name to pick where there are several; empty: there is to be only one for this
// machine's architecture.
Result<ImagePlan> read_layout(int directory, const std::string& wanted);

}  // namespace nutshell::images
