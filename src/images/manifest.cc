#include "images/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_members.h"
#include "images/image_name.h"

namespace nutshell::images {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostEntries = 256;
constexpr std::size_t kMostVariables = 256;
constexpr std::size_t kMostVariableBytes = 32U << 10U;
constexpr std::size_t kMostPathBytes = 1024;
constexpr const char* kNameAnnotation = "org.opencontainers.image.ref.name";
// The annotation of containerd: it has the whole name, where the other may be only a tag.
constexpr const char* kWholeNameAnnotation = "io.containerd.image.name";

Failure invalid(std::string message) {
  return failure(ErrorCode::InvalidArgument, std::move(message));
}

BlobKind kind_of(std::string_view type) {
  if (type == "application/vnd.oci.image.index.v1+json" ||
      type == "application/vnd.docker.distribution.manifest.list.v2+json")
    return BlobKind::Index;
  if (type == "application/vnd.oci.image.manifest.v1+json" ||
      type == "application/vnd.docker.distribution.manifest.v2+json")
    return BlobKind::Manifest;
  if (type == "application/vnd.oci.image.config.v1+json" ||
      type == "application/vnd.docker.container.image.v1+json")
    return BlobKind::Config;
  for (const std::string_view layer :
       {"application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+gzip",
        "application/vnd.oci.image.layer.v1.tar+zstd",
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.docker.image.rootfs.diff.tar.zstd"}) {
    if (type == layer) return BlobKind::Layer;
  }
  return BlobKind::Other;
}

Result<Descriptor> read_descriptor(const Json& object) {
  if (!object.is_object()) return invalid("a descriptor is not an object");
  Descriptor made;
  made.media_type = text_of(object, "mediaType");
  made.kind = kind_of(made.media_type);
  made.digest = TRY(parse_digest(text_of(object, "digest")));
  const Json* size = member(object, "size");
  if (size == nullptr || !size->is_number_unsigned())
    return invalid(fmt::format("descriptor {} has no size", made.digest));
  made.size = size->get<std::uint64_t>();
  if (const Json* platform = member(object, "platform")) {
    made.os = text_of(*platform, "os");
    made.architecture = text_of(*platform, "architecture");
  }
  if (const Json* annotations = member(object, "annotations")) {
    made.name = text_of(*annotations, kWholeNameAnnotation);
    if (made.name.empty()) made.name = text_of(*annotations, kNameAnnotation);
  }
  return made;
}

// Refuses a text that is an index for one reader and a manifest for another.
Result<Json> parse_document(std::string_view text, BlobKind kind) {
  Json document = TRY(parse_strict(text, kJsonLimits));
  if (!document.is_object()) return invalid("it is not a JSON object");
  const bool has_manifests = member(document, "manifests") != nullptr;
  const bool has_layers =
      member(document, "layers") != nullptr || member(document, "config") != nullptr;
  if (has_manifests && has_layers) return invalid("it is an index and a manifest at once");
  const std::string type = text_of(document, "mediaType");
  if (!type.empty() && kind_of(type) != kind)
    return invalid(fmt::format("its media type is '{}', which was not expected here", shown(type)));
  return document;
}

// Leaves out variables that sandboxes set themselves, and texts that are not variables.
bool is_taken(const std::string& variable) {
  const std::size_t equals = variable.find('=');
  if (equals == 0 || equals == std::string::npos || variable.size() > kMostVariableBytes)
    return false;
  const std::string_view name = std::string_view(variable).substr(0, equals);
  return variable.find('\0') == std::string::npos && name != "HOME" && name != "USER" &&
         name != "LOGNAME";
}

Result<SavedImage> read_saved_image(const Json& entry) {
  SavedImage image;
  image.config = text_of(entry, "Config");
  image.names = texts_of(entry, "RepoTags", kMostEntries);
  const Json* layers = member(entry, "Layers");
  if (image.config.empty() || layers == nullptr || !layers->is_array())
    return invalid("an entry lacks Config or Layers");
  if (layers->size() > kMostLayers)
    return invalid(fmt::format("an image has more than {} layers", kMostLayers));
  image.layers = texts_of(entry, "Layers", kMostLayers);
  if (image.layers.size() != layers->size()) return invalid("a layer's path is not a text");
  image.layers.push_back(image.config);
  for (const std::string& path : image.layers) {
    if (path.empty() || path.size() > kMostPathBytes || path.find('\0') != std::string::npos)
      return invalid("it has an impossible path");
  }
  image.layers.pop_back();
  return image;
}

}  // namespace

Result<std::vector<Descriptor>> read_index(std::string_view text) {
  const Json document = TRY(parse_document(text, BlobKind::Index));
  const Json* manifests = member(document, "manifests");
  if (manifests == nullptr || !manifests->is_array()) return invalid("it lists no manifests");
  if (manifests->size() > kMostEntries)
    return invalid(fmt::format("it lists more than {} manifests", kMostEntries));
  std::vector<Descriptor> all;
  for (const Json& entry : *manifests) {
    Descriptor made = TRY(read_descriptor(entry));
    if (made.kind == BlobKind::Index || made.kind == BlobKind::Manifest)
      all.push_back(std::move(made));
  }
  return all;
}

Result<Manifest> read_manifest(std::string_view text) {
  const Json document = TRY(parse_document(text, BlobKind::Manifest));
  const Json* config = member(document, "config");
  const Json* layers = member(document, "layers");
  if (config == nullptr || layers == nullptr || !layers->is_array())
    return invalid("the manifest lacks config or layers");
  if (layers->size() > kMostLayers)
    return invalid(fmt::format("the image has more than {} layers", kMostLayers));
  Manifest manifest;
  manifest.config = TRY(read_descriptor(*config));
  if (manifest.config.kind != BlobKind::Config)
    return invalid(fmt::format("this is not an image but '{}'", shown(manifest.config.media_type)));
  for (const Json& entry : *layers) {
    manifest.layers.push_back(TRY(read_descriptor(entry)));
    if (manifest.layers.back().kind != BlobKind::Layer) {
      return invalid(fmt::format("layer {} is '{}', which Nutshell cannot unpack",
                                 manifest.layers.size(), shown(manifest.layers.back().media_type)));
    }
  }
  return manifest;
}

Result<ImageConfig> read_config(std::string_view text) {
  const Json document = TRY(parse_strict(text, kJsonLimits));
  ImageConfig config;
  config.os = text_of(document, "os");
  config.architecture = text_of(document, "architecture");
  const Json* files = member(document, "rootfs");
  const Json* ids = files != nullptr ? member(*files, "diff_ids") : nullptr;
  if (ids == nullptr || !ids->is_array())
    return invalid("the configuration lists no digests of its layers");
  if (ids->size() > kMostLayers)
    return invalid(fmt::format("the image has more than {} layers", kMostLayers));
  for (const Json& id : *ids) {
    if (!id.is_string()) return invalid("a layer's digest is not a text");
    config.diff_ids.push_back(TRY(parse_digest(id.get<std::string>())));
  }
  if (const Json* settings = member(document, "config"))
    config.environment = texts_of(*settings, "Env", kMostVariables);
  std::erase_if(config.environment, [](const std::string& one) { return !is_taken(one); });
  return config;
}

std::string plain_config(const std::string& architecture, const std::string& diff_id) {
  return nlohmann::ordered_json{
      {"architecture", architecture},
      {"os", "linux"},
      {"rootfs",
       {{"type", "layers"}, {"diff_ids", nlohmann::ordered_json::array({"sha256:" + diff_id})}}}}
      .dump();
}

Result<std::vector<SavedImage>> read_saved_images(std::string_view text) {
  const Json document = TRY(parse_strict(text, kJsonLimits));
  if (!document.is_array() || document.empty()) return invalid("it lists no image");
  if (document.size() > kMostEntries)
    return invalid(fmt::format("it lists more than {} images", kMostEntries));
  std::vector<SavedImage> all;
  for (const Json& entry : document)
    all.push_back(TRY(read_saved_image(entry)));
  return all;
}

}  // namespace nutshell::images
