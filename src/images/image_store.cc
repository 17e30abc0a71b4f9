#include "images/image_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/closest_word.h"
#include "base/file.h"
#include "core/json_members.h"
#include "images/image_name.h"
#include "images/manifest.h"
#include "images/user_place.h"

namespace nutshell::images {
namespace {

using Json = nlohmann::json;

namespace fs = std::filesystem;

constexpr std::size_t kLeastDigits = 6;  // of a digest's beginning

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;  // a missing directory is empty
  for (const auto& entry : fs::directory_iterator(directory, error))
    names.push_back(entry.path().filename().native());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<ImageStore> ImageStore::open() {
  fs::path path = TRY(image_directory());
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return ImageStore(std::move(path));
  const bool is_ours =
      S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 022U) == 0;
  if (is_ours) return ImageStore(std::move(path));
  return failure(ErrorCode::PermissionDenied,
                 fmt::format("{} is not a directory that only you can write to: name another with "
                             "NUTSHELL_IMAGE_DIR",
                             path.native()));
}

Result<StoredImage> ImageStore::read_image(const std::string& id) const {
  const std::string text = TRY(read_file(path_ / "images" / id / "image.json", kMostJsonBytes));
  const Json record = TRY(parse_strict(text, kJsonLimits));
  StoredImage image;
  image.id = id;
  image.layers = texts_of(record, "layers", kMostLayers);
  image.environment = texts_of(record, "environment", SIZE_MAX);
  image.architecture = text_of(record, "architecture");
  image.source = text_of(record, "source");
  image.bytes = count_of(record, "bytes");
  image.entries = count_of(record, "entries");
  image.imported = static_cast<std::int64_t>(count_of(record, "imported"));
  return image;
}

Result<std::string> ImageStore::id_of(const std::string& word) const {
  if (const auto name = whole_name(word)) {
    auto id = read_file(path_ / "names" / to_file_name(*name), 256);
    if (id && is_digest(*id)) return id;
  }
  std::string digits = word.starts_with("sha256:") ? word.substr(7) : word;
  if (digits.size() < kLeastDigits) return unknown(word);
  std::vector<std::string> found = names_in(path_ / "images");
  std::erase_if(found, [&](const std::string& id) { return !id.starts_with(digits); });
  if (found.empty()) return unknown(word);
  if (found.size() == 1) return found.front();
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("'{}' is the beginning of {} images", digits, found.size()));
}

Failure ImageStore::unknown(const std::string& word) const {
  std::vector<std::string> names;
  for (const std::string& file : names_in(path_ / "names")) {
    names.push_back(from_file_name(file));
    if (names.back().ends_with(":latest"))
      names.push_back(names.back().substr(0, names.back().size() - 7));
  }
  const std::string best = closest_word(word, names);
  const std::string hint = !best.empty() ? fmt::format("did you mean '{}'?", best)
                           : names.empty()
                               ? "none is imported yet; 'nutshell image build-default' makes one, "
                                 "'nutshell image import' takes a tar or an OCI layout"
                               : "'nutshell image list' shows the images, 'nutshell image "
                                 "import' adds one";
  return failure(ErrorCode::NotFound, fmt::format("no image '{}': {}", shown(word), hint));
}

Result<StoredImage> ImageStore::find(const std::string& word) const {
  StoredImage image = TRY(read_image(TRY(id_of(word))));
  for (const std::string& file : names_in(path_ / "names")) {
    const auto id = read_file(path_ / "names" / file, 256);
    if (id && *id == image.id) image.names.push_back(from_file_name(file));
  }
  return image;
}

Result<std::vector<StoredImage>> ImageStore::list() const {
  std::vector<StoredImage> all;
  for (const std::string& id : names_in(path_ / "images")) {
    auto image = find(id);
    // Skips an image that is being removed.
    if (image) all.push_back(std::move(*image));
  }
  std::sort(all.begin(), all.end(), [](const StoredImage& a, const StoredImage& b) {
    return std::tie(a.names, a.id) < std::tie(b.names, b.id);
  });
  return all;
}

Result<UniqueFd> hold_root(const fs::path& root) {
  const auto gone = [&] {
    return failure(ErrorCode::NotFound, fmt::format("image {} is being removed", root.native()));
  };
  auto directory = open_file(root, O_RDONLY | O_DIRECTORY);
  if (!directory) return directory;
  if (::flock(directory->get(), LOCK_SH | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? gone() : syscall_failure("lock", root.native());
  struct stat held {};
  struct stat named {};
  const bool is_there = ::fstat(directory->get(), &held) == 0 &&
                        ::stat(root.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
                        held.st_dev == named.st_dev;
  if (!is_there) return gone();
  return directory;
}

std::string own_architecture() {
  utsname names{};
  if (::uname(&names) != 0) return {};
  std::string machine = names.machine;
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  return machine;
}

}  // namespace nutshell::images
