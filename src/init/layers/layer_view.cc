#include "init/layers/layer_view.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/beneath.h"
#include "base/defer.h"
#include "init/files/paths.h"

namespace nutshell::init {
namespace {

enum class Finding {
  Missing,  // lower layers may have it
  Hidden,   // lower layers do not show it
  Found,
};

Result<UniqueFd> open_in(const Layer& layer, const std::string& path, int flags) {
  return open_beneath(layer.directory(), path.empty() ? "." : path, flags | O_NOFOLLOW, 0,
                      Links::Refuse);
}

bool is_missing(const Error& error) {
  return error.code == ErrorCode::NotFound;
}

bool is_opaque_at(const Layer& layer, const std::string& path) {
  const auto opened = open_in(layer, path, O_RDONLY | O_DIRECTORY);
  return opened && is_opaque(opened->get());
}

// Looks at each component in turn: any of them may hide the layers below.
Finding look_in(const Layer& layer, const std::string& path, struct stat& status) {
  bool is_opaque_above = false;
  for (std::size_t end = 0;;) {
    end = path.find('/', end == 0 ? 0 : end + 1);
    const std::string part = path.substr(0, end);
    const bool is_last = end == std::string::npos;
    if (::fstatat(layer.directory(), part.empty() ? "." : part.c_str(), &status,
                  AT_SYMLINK_NOFOLLOW) != 0) {
      return is_opaque_above ? Finding::Hidden : Finding::Missing;
    }
    if (is_whiteout(status)) return Finding::Hidden;
    if (is_last) return Finding::Found;
    if (!S_ISDIR(status.st_mode)) return Finding::Hidden;
    is_opaque_above = is_opaque_above || is_opaque_at(layer, part);
  }
}

Result<> add_names(const Layer& layer, const std::string& path, std::set<std::string>& names) {
  auto opened = open_in(layer, path, O_RDONLY | O_DIRECTORY);
  if (!opened) {
    const bool is_absent = is_missing(opened.error()) || errno == ENOTDIR || errno == ELOOP;
    return is_absent ? Result<>() : Result<>(Failure(std::move(opened).error()));
  }
  DIR* entries = ::fdopendir(opened->get());
  if (entries == nullptr) return syscall_failure("open", path);
  (void)opened->release();  // owned by the stream from here on
  const Defer closed([entries] { ::closedir(entries); });
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of ours
  for (const dirent* entry = ::readdir(entries); entry != nullptr; entry = ::readdir(entries)) {
    if (is_plain_name(entry->d_name)) names.insert(entry->d_name);
  }
  return {};
}

Result<std::size_t> read_chunk(int fd, std::array<char, 65536>& chunk, std::uint64_t offset) {
  const ssize_t count = ::pread(fd, chunk.data(), chunk.size(), static_cast<off_t>(offset));
  if (count < 0) return syscall_failure("read");
  return static_cast<std::size_t>(count);
}

Result<bool> has_same_bytes(const LayerEntry& left, const LayerEntry& right,
                            const std::string& path) {
  const UniqueFd left_file = TRY(open_in(*left.layer, path, O_RDONLY | O_NONBLOCK));
  const UniqueFd right_file = TRY(open_in(*right.layer, path, O_RDONLY | O_NONBLOCK));
  std::array<char, 65536> left_chunk;
  std::array<char, 65536> right_chunk;
  for (std::uint64_t offset = 0;;) {
    const std::size_t left_size = TRY(read_chunk(left_file.get(), left_chunk, offset));
    const std::size_t right_size = TRY(read_chunk(right_file.get(), right_chunk, offset));
    if (left_size != right_size) return false;
    if (left_size == 0) return true;
    if (!std::equal(left_chunk.begin(), left_chunk.begin() + static_cast<std::ptrdiff_t>(left_size),
                    right_chunk.begin())) {
      return false;
    }
    offset += left_size;
  }
}

}  // namespace

Result<std::optional<LayerEntry>> LayerView::find(const std::string& path) const {
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    LayerEntry entry{*layer};
    switch (look_in(**layer, path, entry.status)) {
      case Finding::Found:
        return std::optional(std::move(entry));
      case Finding::Hidden:
        return std::optional<LayerEntry>();
      case Finding::Missing:
        break;
    }
  }
  return std::optional<LayerEntry>();
}

Result<std::set<std::string>> LayerView::names_in(const std::string& path) const {
  std::set<std::string> names;
  for (const auto& layer : layers_)
    TRY(add_names(*layer, path, names));
  return names;
}

bool LayerView::has_opaque(const std::string& path) const {
  return std::any_of(layers_.begin(), layers_.end(),
                     [&](const auto& layer) { return is_opaque_at(*layer, path); });
}

bool LayerView::has_directory(const std::string& path) const {
  return std::any_of(layers_.begin(), layers_.end(), [&](const auto& layer) {
    struct stat status {};
    return ::fstatat(layer->directory(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode);
  });
}

Result<UniqueFd> LayerContent::open() const {
  return open_in(*layer_, path_, O_RDONLY | O_NONBLOCK);
}

Image image_of(const std::optional<LayerEntry>& entry, const std::string& path) {
  Image image;
  if (!entry) return image;
  image.info = describe(entry->status, "");
  image.owner = entry->status.st_uid;
  image.group = entry->status.st_gid;
  if (image.info.kind == wire::FileKind::Link) {
    image.info.target = read_link(entry->layer->directory(), path);
  }
  if (image.info.kind == wire::FileKind::Regular) {
    image.content = std::make_shared<LayerContent>(entry->layer, path, image.info.size);
  }
  return image;
}

Result<bool> is_same(const LayerEntry& left, const LayerEntry& right, const std::string& path) {
  if (left.status.st_mode != right.status.st_mode) return false;
  if (left.status.st_ino == right.status.st_ino && left.status.st_dev == right.status.st_dev)
    return true;
  if (S_ISDIR(left.status.st_mode)) return true;
  if (S_ISLNK(left.status.st_mode)) {
    return read_link(left.layer->directory(), path) == read_link(right.layer->directory(), path);
  }
  if (!S_ISREG(left.status.st_mode)) return left.status.st_rdev == right.status.st_rdev;
  if (left.status.st_size != right.status.st_size) return false;
  return has_same_bytes(left, right, path);
}

}  // namespace nutshell::init
