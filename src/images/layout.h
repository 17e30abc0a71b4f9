// Reads an image from a directory: an OCI layout, or an unpacked `docker save`. Checks every
// digest; no path leads out of the directory.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "images/manifest.h"

namespace nutshell::images {

struct LayerSource {
  UniqueFd file;
  std::string diff_id;  // the digest of its unpacked content
  std::string digest;   // the digest of the file; empty if the archive has none
};

struct ImagePlan {
  std::string id;  // digest of its configuration
  ImageConfig config;
  std::vector<LayerSource> layers;
  std::string name;  // as the archive says; may be empty, and is untrusted
};

enum class LayoutKind { Oci, DockerSave, None };
LayoutKind kind_of_layout(int directory);

// `wanted` is the name to pick if there are several images; if it is empty, there must be only one
// for this machine's architecture.
Result<ImagePlan> read_layout(int directory, const std::string& wanted);

}  // namespace nutshell::images
