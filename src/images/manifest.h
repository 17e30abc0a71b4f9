// The JSON of images: OCI indexes, manifests and configurations, and the list that `docker save`
// writes. Hostile text: bounded in size and depth, no member twice, every count checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/json_text.h"

namespace nutshell::images {

inline constexpr std::size_t kMostJsonBytes = 4U << 20U;
inline constexpr JsonLimits kJsonLimits{.bytes = kMostJsonBytes, .depth = 32};
inline constexpr std::size_t kMostLayers = 512;

enum class BlobKind { Index, Manifest, Config, Layer, Other };

// A reference to a blob.
struct Descriptor {
  BlobKind kind = BlobKind::Other;
  std::string media_type;
  std::string digest;  // 64 hexadecimal digits
  std::uint64_t size = 0;
  std::string os;            // from the entry of an index; may be empty
  std::string architecture;  //
  std::string name;          // from an annotation; may be empty
};

// Parses an index; leaves out entries that are neither a manifest nor an index.
Result<std::vector<Descriptor>> read_index(std::string_view text);

struct Manifest {
  Descriptor config;
  std::vector<Descriptor> layers;  // lowest first
};
Result<Manifest> read_manifest(std::string_view text);

struct ImageConfig {
  std::string os;
  std::string architecture;
  std::vector<std::string> diff_ids;     // of the layers' content, 64 digits each
  std::vector<std::string> environment;  // NAME=VALUE, without variables that sandboxes set
};
Result<ImageConfig> read_config(std::string_view text);
// The configuration for an image that has none.
std::string plain_config(const std::string& architecture, const std::string& diff_id);

// One image in the list of `docker save`; the paths are untrusted.
struct SavedImage {
  std::string config;
  std::vector<std::string> names;
  std::vector<std::string> layers;
};
Result<std::vector<SavedImage>> read_saved_images(std::string_view text);

}  // namespace nutshell::images
