#include "images/image_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "base/closest_word.h"
#include "base/deadline.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/random_id.h"
#include "core/json_members.h"
#include "core/json_text.h"
#include "images/image_name.h"
#include "images/layer_tree.h"
#include "images/manifest.h"
#include "images/user_place.h"

namespace nutshell::images {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr auto kLockTime = 120s;
constexpr std::size_t kLeastDigits = 6;  // of a digest's beginning

Result<> move(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return syscall_failure("rename", to.native());
  return {};
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> all;
  std::error_code error;  // a missing directory is empty
  for (const auto& entry : fs::directory_iterator(directory, error))
    all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::path& entry : entries_of(directory))
    names.push_back(entry.filename().native());
  return names;
}

// A process at work holds the exclusive lock of its directory.
bool is_abandoned(const fs::path& partial) {
  const auto directory = open_file(partial, O_RDONLY | O_DIRECTORY);
  return directory && ::flock(directory->get(), LOCK_EX | LOCK_NB) == 0;
}

std::string to_text(const StoredImage& image) {
  return dump_json(
      nlohmann::ordered_json{{"layers", image.layers},
                             {"environment", image.environment},
                             {"architecture", image.architecture},
                             {"source", image.source},
                             {"bytes", image.bytes},
                             {"entries", image.entries},
                             {"imported", static_cast<std::uint64_t>(image.imported)}});
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

Staging::~Staging() {
  if (!path_.empty()) remove_tree(path_);
}

// Operations that change the store hold this lock, and work by renames.
Result<UniqueFd> ImageStore::lock() const {
  UniqueFd file = TRY(open_file(path_ / "lock", O_RDWR | O_CREAT, 0600));
  const Deadline deadline = Deadline::in(kLockTime);
  constexpr timespec kMoment{0, 20'000'000};
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return syscall_failure("lock", path_.native());
    if (deadline.has_passed()) {
      return failure(ErrorCode::Unavailable,
                     fmt::format("another process holds the images in {}", path_.native()));
    }
    ::nanosleep(&kMoment, nullptr);
  }
  return file;
}

Result<Staging> ImageStore::stage() {
  std::error_code error;
  const fs::path parent = path_.parent_path();
  if (!parent.empty()) fs::create_directories(parent.parent_path(), error);
  ::mkdir(parent.c_str(), 0700);  // root's is the daemon's directory too, which must be private
  if (error) return syscall_failure(error.value(), "make", path_.parent_path().native());
  TRY(make_directory(path_));
  for (const char* name : {"layers", "images", "names", "partial"})
    TRY(make_directory(path_ / name));
  const UniqueFd held = TRY(lock());
  return stage_locked();
}

Result<Staging> ImageStore::stage_locked() const {
  const fs::path partial = path_ / "partial" / random_id(16);
  TRY(make_directory(partial));
  UniqueFd directory = TRY(open_file(partial, O_RDONLY | O_DIRECTORY));
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0)
    return syscall_failure("lock", partial.native());
  Staging staging(partial, std::move(directory));
  TRY(make_directory(partial / "layers"));
  return staging;
}

bool ImageStore::has_layer(const std::string& digest) const {
  struct stat status {};
  return ::stat((path_ / "layers" / digest / "tree").c_str(), &status) == 0;
}

Result<> ImageStore::note_size(const fs::path& layer, const LayerSize& size) {
  return write_file(layer / "size", fmt::format("{} {}\n", size.bytes, size.entries));
}

Result<ImageStore::LayerSize> ImageStore::size_of(const fs::path& layer) {
  const std::string text = TRY(read_file(layer / "size", 256));
  LayerSize size;
  // NOLINTNEXTLINE(cert-err34-c): a file of our own
  if (std::sscanf(text.c_str(), "%lu %lu", &size.bytes, &size.entries) != 2)
    return failure(ErrorCode::Corrupt, fmt::format("{} has no size", layer.native()));
  return size;
}

// Makes the root from hard links and directories, and the record; does not read the archive again.
Result<> ImageStore::make_image(const Staging& staging, StoredImage& image) const {
  const fs::path made = staging.path() / "image";
  TRY(make_directory(made));
  TRY(make_directory(made / "root"));
  for (const std::string& digest : image.layers) {
    const fs::path layer = has_layer(digest) ? path_ / "layers" / digest : staging.layer(digest);
    const LayerSize size = TRY(size_of(layer));
    image.bytes += size.bytes;
    image.entries += size.entries;
    TRY(add_layer(layer / "tree", made / "root"));
  }
  if (::chmod((made / "root").c_str(), 0755) != 0) return syscall_failure("chmod", made.native());
  image.imported = ::time(nullptr);
  return write_file(made / "image.json", to_text(image));
}

Result<bool> ImageStore::publish(const Staging& staging, StoredImage image,
                                 const std::string& name) {
  // After a loss of power there must be no name without its files.
  ::syncfs(staging.lock());
  const UniqueFd held = TRY(lock());
  for (const std::string& digest : image.layers) {
    struct stat status {};
    const bool is_staged = ::stat((staging.layer(digest) / "tree").c_str(), &status) == 0;
    if (!has_layer(digest) && !is_staged) return false;
  }
  std::error_code error;
  const bool is_new = !fs::exists(path_ / "images" / image.id, error);
  if (is_new) TRY(make_image(staging, image));
  for (const std::string& digest : image.layers) {
    if (!has_layer(digest)) TRY(move(staging.layer(digest), path_ / "layers" / digest));
  }
  if (is_new) TRY(move(staging.path() / "image", path_ / "images" / image.id));
  TRY(write_file(staging.path() / "name", image.id));
  TRY(move(staging.path() / "name", path_ / "names" / to_file_name(name)));
  TRY(move_unused(staging, SweepMode::Remove));  // the image that had the name before
  return true;
}

std::optional<UniqueFd> ImageStore::take_alone(const std::string& id) const {
  auto directory = open_file(root(id), O_RDONLY | O_DIRECTORY);
  if (!directory) return UniqueFd();  // a broken image is not in use
  if (::flock(directory->get(), LOCK_EX | LOCK_NB) != 0 || has_living_user(id)) return std::nullopt;
  return std::move(*directory);
}

Result<std::vector<std::string>> ImageStore::move_unused(const Staging& staging,
                                                         SweepMode mode) const {
  const bool removes = mode == SweepMode::Remove;
  std::vector<std::string> unused;
  std::set<std::string> named;
  for (const fs::path& name : entries_of(path_ / "names")) {
    if (const auto id = read_file(name, 256)) named.insert(*id);
  }
  std::set<std::string> needed;
  for (const fs::path& image : entries_of(path_ / "images")) {
    const std::string id = image.filename().native();
    const std::optional<UniqueFd> alone =
        named.contains(id) ? std::nullopt : take_alone(id);  // until it is moved away
    if (alone) {
      if (removes) TRY(move(image, staging.path() / ("image-" + id)));
      unused.push_back(fmt::format("image {} that has no name", id.substr(0, 12)));
      continue;
    }
    for (const std::string& digest : TRY(read_image(id)).layers)
      needed.insert(digest);
  }
  for (const fs::path& layer : entries_of(path_ / "layers")) {
    const std::string digest = layer.filename().native();
    if (needed.contains(digest)) continue;
    if (removes) TRY(move(layer, staging.path() / ("layer-" + digest)));
    unused.push_back(fmt::format("layer {} that no image has", digest.substr(0, 12)));
  }
  return unused;
}

Result<ImageStore::Removed> ImageStore::remove(const std::string& word) {
  TRY(find(word));  // fails before a missing store is made
  const Staging staging = TRY(stage());
  const UniqueFd held = TRY(lock());
  const StoredImage image = TRY(find(word));
  const auto name = whole_name(word);
  const bool is_by_name =
      name && std::find(image.names.begin(), image.names.end(), *name) != image.names.end();
  Removed removed;
  removed.names = is_by_name ? std::vector<std::string>{*name} : image.names;
  removed.is_image_gone = removed.names.size() == image.names.size();
  if (removed.is_image_gone && !take_alone(image.id)) {
    return failure(ErrorCode::Unavailable,
                   fmt::format("image {} is in use by a sandbox, or kept ready for the next one: "
                               "'nutshell list' shows those to destroy first",
                               shown(word)));
  }
  for (const std::string& one : removed.names) {
    const fs::path file = path_ / "names" / to_file_name(one);
    if (::unlink(file.c_str()) != 0) return syscall_failure("remove", file.native());
  }
  TRY(move_unused(staging, SweepMode::Remove));
  for (const std::string& digest : image.layers) {
    const auto size = read_file(staging.path() / ("layer-" + digest) / "size", 256);
    if (size) removed.bytes_freed += std::strtoull(size->c_str(), nullptr, 10);
  }
  return removed;
}

void ImageStore::sweep(SweepMode mode, SweepReport& report) {
  std::error_code error;
  if (!fs::exists(path_ / "partial", error)) return;
  const auto swept = [&]() -> Result<> {
    const UniqueFd held = TRY(lock());
    for (const fs::path& partial : entries_of(path_ / "partial")) {
      if (!is_abandoned(partial)) continue;
      if (mode == SweepMode::Remove) remove_tree(partial);
      report.removed.push_back(
          fmt::format("unfinished image import {}", partial.filename().native()));
    }
    const Staging staging = TRY(stage_locked());
    for (std::string& item : TRY(move_unused(staging, mode)))
      report.removed.push_back(std::move(item));
    return {};
  }();
  if (!swept) report.failed.push_back(fmt::format("images: {}", swept.error().message));
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
