#include "images/layout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "base/beneath.h"
#include "base/file.h"
#include "base/sha256.h"
#include "images/image_name.h"
#include "images/image_store.h"

namespace nutshell::images {
namespace {

constexpr int kMostIndexes = 16;  // looked into: an index may list indexes, and even itself
constexpr const char* kIndex = "index.json";
constexpr const char* kSavedList = "manifest.json";

Failure invalid(std::string message) {
  return failure(ErrorCode::InvalidArgument, std::move(message));
}

// Opens without waiting for the writer of a FIFO.
Result<UniqueFd> open_regular(int directory, const std::string& path) {
  auto file = open_beneath(directory, path, O_RDONLY | O_NONBLOCK, 0, Links::Confine);
  if (!file) return while_doing(fmt::format("'{}'", shown(path)), std::move(file).error());
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return syscall_failure("stat", shown(path));
  if (!S_ISREG(status.st_mode))
    return invalid(fmt::format("'{}' is not a regular file", shown(path)));
  return file;
}

Result<std::string> read_regular(int directory, const std::string& path) {
  const UniqueFd file = TRY(open_regular(directory, path));
  auto text = read_all(file.get(), kMostJsonBytes);
  if (!text) return while_doing(fmt::format("read '{}'", shown(path)), std::move(text).error());
  return text;
}

bool has_file(int directory, const char* name) {
  struct stat status {};
  return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

std::string blob_path(const std::string& digest) {
  return "blobs/sha256/" + digest;
}

Result<> check_digest(std::string_view text, const std::string& digest, const std::string& what) {
  const std::string found = sha256_hex(text);
  if (found == digest) return {};
  return failure(
      ErrorCode::Corrupt,
      fmt::format("{} has digest sha256:{}, and should have sha256:{}", what, found, digest));
}

Result<std::string> read_blob(int directory, const Descriptor& blob) {
  if (blob.size > kMostJsonBytes)
    return invalid(fmt::format("blob {} is larger than any JSON should be", blob.digest));
  std::string text = TRY(read_regular(directory, blob_path(blob.digest)));
  TRY(check_digest(text, blob.digest, "a blob"));
  if (text.size() == blob.size) return text;
  return failure(ErrorCode::Corrupt,
                 fmt::format("blob {} does not have the size that the image states", blob.digest));
}

bool is_for_this_machine(const Descriptor& entry) {
  const bool is_said = !entry.os.empty() || !entry.architecture.empty();
  return !is_said || (entry.os == "linux" && entry.architecture == own_architecture());
}

// Some archives call "debian:12" REGISTRY/library/debian:12.
bool is_called(const std::string& name, const std::string& wanted) {
  if (wanted.empty() || name == wanted) return true;
  const auto whole = whole_name(wanted);
  return whole && (name == *whole || name.ends_with("/" + *whole));
}

// Searches the manifests for this machine, also in nested indexes.
class Search {
 public:
  Search(int directory, const std::string& wanted) : directory_(directory), wanted_(wanted) {}

  Result<> look_into(const std::string& text, const std::string& name_above) {
    if (++indexes_ > kMostIndexes)
      return invalid(fmt::format("its indexes lead to more than {} others", kMostIndexes));
    auto listed = read_index(text);
    if (!listed) return while_doing("index", std::move(listed).error());
    for (Descriptor& entry : *listed) {
      if (entry.name.empty()) entry.name = name_above;
      if (entry.kind == BlobKind::Index) {
        TRY(look_into(TRY(read_blob(directory_, entry)), entry.name));
      } else {
        take(std::move(entry));
      }
    }
    return {};
  }

  Result<Descriptor> one() const {
    if (found_.size() == 1) return found_.front();
    std::string others;
    for (const std::string& text : seen_)
      others += fmt::format("\n  {}", text);
    return failure(
        ErrorCode::InvalidArgument,
        found_.empty()
            ? fmt::format("no image in it fits linux/{}{}{}; it holds:{}", own_architecture(),
                          wanted_.empty() ? "" : " and is called ", shown(wanted_), others)
            : fmt::format("it holds several images; pick one with --pick NAME:{}", others));
  }

 private:
  void take(Descriptor entry) {
    if (seen_.size() < 20) {
      seen_.push_back(fmt::format("{} {}/{}", entry.name.empty() ? "(no name)" : shown(entry.name),
                                  shown(entry.os), shown(entry.architecture)));
    }
    const bool is_known = std::any_of(found_.begin(), found_.end(), [&](const Descriptor& known) {
      return known.digest == entry.digest;
    });
    if (!is_known && is_for_this_machine(entry) && is_called(entry.name, wanted_))
      found_.push_back(std::move(entry));
  }

  int directory_;
  const std::string& wanted_;
  int indexes_ = 0;
  std::vector<Descriptor> found_;
  std::vector<std::string> seen_;
};

Result<> check_platform(const ImageConfig& config) {
  const bool is_linux = config.os.empty() || config.os == "linux";
  if (is_linux && (config.architecture.empty() || config.architecture == own_architecture()))
    return {};
  return failure(ErrorCode::Unsupported,
                 fmt::format("the image is for {}/{}, and this machine is linux/{}",
                             shown(config.os), shown(config.architecture), own_architecture()));
}

Result<ImageConfig> read_checked_config(const std::string& text, std::size_t layers) {
  ImageConfig config = TRY(read_config(text));
  TRY(check_platform(config));
  if (config.diff_ids.size() == layers) return config;
  return failure(ErrorCode::Corrupt,
                 fmt::format("the image lists {} layers, but its configuration lists {}", layers,
                             config.diff_ids.size()));
}

Result<ImagePlan> read_oci(int directory, const std::string& wanted) {
  Search search(directory, wanted);
  TRY(search.look_into(TRY(read_regular(directory, kIndex)), ""));
  const Descriptor chosen = TRY(search.one());
  const Manifest manifest = TRY(read_manifest(TRY(read_blob(directory, chosen))));
  const std::string config = TRY(read_blob(directory, manifest.config));
  ImagePlan plan;
  plan.id = manifest.config.digest;
  plan.config = TRY(read_checked_config(config, manifest.layers.size()));
  plan.name = chosen.name;
  for (std::size_t i = 0; i < manifest.layers.size(); ++i) {
    const Descriptor& layer = manifest.layers[i];
    UniqueFd file = TRY(open_regular(directory, blob_path(layer.digest)));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return syscall_failure("stat", layer.digest);
    if (static_cast<std::uint64_t>(status.st_size) != layer.size)
      return failure(ErrorCode::Corrupt,
                     fmt::format("layer {} does not have the size that the image states", i + 1));
    plan.layers.push_back({std::move(file), plan.config.diff_ids[i], layer.digest});
  }
  return plan;
}

Result<SavedImage> pick_saved(std::vector<SavedImage> all, const std::string& wanted) {
  std::string names;
  std::vector<SavedImage> found;
  for (SavedImage& image : all) {
    const bool fits = wanted.empty() ||
                      std::any_of(image.names.begin(), image.names.end(),
                                  [&](const std::string& name) { return is_called(name, wanted); });
    for (const std::string& name : image.names)
      names += fmt::format("\n  {}", shown(name));
    if (fits) found.push_back(std::move(image));
  }
  if (found.size() == 1) return std::move(found.front());
  return invalid(
      fmt::format("{}; pick one with --pick NAME:{}",
                  found.empty() ? "no image in it has that name" : "it holds several images",
                  names.substr(0, 4000)));
}

// A digest in the configuration's file name must match; without one, the digests of the layers
// must.
std::string digest_in_path(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  return is_digest(name) ? name : std::string();
}

Result<ImagePlan> read_saved(int directory, const std::string& wanted) {
  auto listed = read_saved_images(TRY(read_regular(directory, kSavedList)));
  if (!listed) return while_doing(kSavedList, std::move(listed).error());
  const SavedImage chosen = TRY(pick_saved(std::move(*listed), wanted));
  const std::string config = TRY(read_regular(directory, chosen.config));
  const std::string promised = digest_in_path(chosen.config);
  if (!promised.empty()) TRY(check_digest(config, promised, "the configuration"));
  ImagePlan plan;
  plan.id = sha256_hex(config);
  plan.config = TRY(read_checked_config(config, chosen.layers.size()));
  if (!chosen.names.empty()) plan.name = chosen.names.front();
  for (std::size_t i = 0; i < chosen.layers.size(); ++i) {
    plan.layers.push_back(
        {TRY(open_regular(directory, chosen.layers[i])), plan.config.diff_ids[i], ""});
  }
  return plan;
}

}  // namespace

// Newer engines write both formats into one archive; the list of `docker save` is simpler.
LayoutKind kind_of_layout(int directory) {
  if (has_file(directory, kSavedList)) {
    const auto text = read_regular(directory, kSavedList);
    if (text && read_saved_images(*text)) return LayoutKind::DockerSave;
  }
  const bool is_oci = has_file(directory, "oci-layout") && has_file(directory, kIndex);
  if (is_oci) return LayoutKind::Oci;
  // An archive with a broken list is refused, and not taken for a root file system.
  struct stat status {};
  const bool has_blobs = ::fstatat(directory, "blobs/sha256", &status, 0) == 0;
  const bool has_names = has_file(directory, "repositories");
  return has_file(directory, kSavedList) && (has_blobs || has_names) ? LayoutKind::DockerSave
                                                                     : LayoutKind::None;
}

Result<ImagePlan> read_layout(int directory, const std::string& wanted) {
  return kind_of_layout(directory) == LayoutKind::Oci ? read_oci(directory, wanted)
                                                      : read_saved(directory, wanted);
}

}  // namespace nutshell::images
