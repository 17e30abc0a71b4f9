#include "registry/pull.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/deadline.h"
#include "base/file.h"
#include "base/sha256.h"
#include "images/image_name.h"
#include "images/image_store.h"
#include "images/manifest.h"
#include "registry/client.h"

namespace nutshell::registry {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kManifestType = "application/vnd.oci.image.manifest.v1+json";
constexpr std::chrono::milliseconds kPace{200};  // between two progress messages

class Pulling {
 public:
  Pulling(const PullOrder& order, fs::path directory)
      : order_(order),
        directory_(std::move(directory)),
        client_(order.reference, order.account, order.patience) {}

  Result<> run() {
    std::error_code error;
    fs::create_directories(directory_ / "blobs" / "sha256", error);
    if (error) return syscall_failure(error.value(), "make", directory_.native());
    const auto document = TRY(find_manifest());
    const auto manifest = images::read_manifest(document);
    if (!manifest) return while_doing("read the image's manifest", manifest.error());
    TRY(fetch_all(*manifest));
    TRY(write_blob(sha256_hex(document), document));
    return write_layout(document);
  }

 private:
  [[nodiscard]] fs::path blob_path(const std::string& digest) const {
    return directory_ / "blobs" / "sha256" / digest;
  }
  Result<> write_blob(const std::string& digest, std::string_view bytes) const {
    return write_file(blob_path(digest), bytes, 0600);
  }

  Result<std::string> checked_manifest(const std::string& version, const std::string& digest) {
    std::string document = TRY(client_.manifest(version));
    if (digest.empty() || sha256_hex(document) == digest) return document;
    return failure(ErrorCode::Corrupt,
                   fmt::format("the manifest of sha256:{} has another digest", digest));
  }

  // From an index it takes the manifest for this machine.
  Result<std::string> find_manifest() {
    const std::string& version = order_.reference.version;
    const std::string digest =
        order_.reference.is_digest ? TRY(images::parse_digest(version)) : std::string();
    std::string document = TRY(checked_manifest(version, digest));
    if (images::read_manifest(document)) return document;
    const auto index = images::read_index(document);
    if (!index) return while_doing("read the image's index", index.error());
    const std::string wanted = images::own_architecture();
    std::set<std::string> others;
    for (const images::Descriptor& entry : *index) {
      if (entry.kind != images::BlobKind::Manifest) continue;
      if (entry.os == "linux" && entry.architecture == wanted)
        return checked_manifest("sha256:" + entry.digest, entry.digest);
      others.insert(images::shown(entry.os + "/" + entry.architecture));
    }
    return failure(ErrorCode::Unsupported,
                   fmt::format("{} is not for linux/{}, but for {}", order_.reference.local_name,
                               wanted, fmt::join(others, ", ")));
  }

  Result<> fetch_all(const images::Manifest& manifest) {
    progress_.layers = manifest.layers.size();
    for (const images::Descriptor& layer : manifest.layers) {
      progress_.bytes_total += layer.size;
      if (layer.size > order_.most_bytes || progress_.bytes_total > order_.most_bytes)
        return failure(
            ErrorCode::TooLarge,
            fmt::format("its layers have more than {} bytes: see --max-size", order_.most_bytes));
    }
    if (manifest.config.size > images::kMostJsonBytes)
      return failure(ErrorCode::Corrupt, "the image's configuration is too long");
    TRY(fetch(manifest.config));
    for (const images::Descriptor& layer : manifest.layers) {
      TRY(fetch(layer));
      ++progress_.layers_done;
      tell();
    }
    return {};
  }

  Result<> fetch(const images::Descriptor& blob) {
    const bool is_layer = blob.kind != images::BlobKind::Config;
    const UniqueFd file =
        TRY(open_file(blob_path(blob.digest), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    return client_.blob(blob.digest, blob.size, [&](std::string_view bytes) -> Result<> {
      TRY(write_all(file.get(), bytes));
      if (is_layer) progress_.bytes += bytes.size();
      if (next_.has_passed()) tell();
      return {};
    });
  }

  void tell() {
    next_ = Deadline::in(kPace);
    if (order_.visit) order_.visit(progress_);
  }

  Result<> write_layout(const std::string& document) const {
    const Json entry = {{"mediaType", kManifestType},
                        {"digest", "sha256:" + sha256_hex(document)},
                        {"size", document.size()}};
    const Json index = {{"schemaVersion", 2}, {"manifests", Json::array({entry})}};
    TRY(write_file(directory_ / "index.json", index.dump(), 0600));
    return write_file(directory_ / "oci-layout", R"({"imageLayoutVersion":"1.0.0"})", 0600);
  }

  const PullOrder& order_;
  fs::path directory_;
  RegistryClient client_;
  PullProgress progress_;
  Deadline next_ = Deadline::in(std::chrono::milliseconds(0));
};

}  // namespace

Result<> pull(const PullOrder& order, const fs::path& directory) {
  return Pulling(order, directory).run();
}

}  // namespace nutshell::registry
