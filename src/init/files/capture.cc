#include "init/files/capture.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <memory>

#include "base/beneath.h"
#include "base/file.h"
#include "init/files/paths.h"
#include "init/files/regular_file.h"
#include "init/files/version.h"

namespace nutshell::init {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

Result<> spend(Budget& budget, std::uint64_t bytes) {
  if (budget.entries == 0) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("there are more than {} files", Budget().entries));
  }
  if (bytes > budget.bytes) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("there are more than {} MiB", Budget().bytes >> 20U));
  }
  --budget.entries;
  budget.bytes -= bytes;
  return {};
}

Result<std::string> read_entry(int directory, const std::string& name, const struct stat& status,
                               std::uint64_t most) {
  const UniqueFd file = TRY(open_at(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  return read_to_end(file.get(), static_cast<std::uint64_t>(status.st_size), most);
}

// Walks down and adds each entry.
class Capture {
 public:
  Capture(const CaptureRules& rules, dev_t device, std::vector<Captured>& found)
      : rules_(rules), device_(device), found_(found) {}

  Result<> take(const TreePlace& place) {
    struct stat status {};
    if (::fstatat(place.directory, place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? Result<>() : Result<>(syscall_failure("stat", place.path));
    }
    const bool is_special = image_of(status).info.kind == wire::FileKind::Other;
    if (is_special && rules_.special_files == SpecialFiles::LeftOut) return {};
    Image image = TRY(capture_entry(place.directory, place.name, status, rules_.budget));
    found_.push_back({place.path, status, std::move(image)});
    const bool is_inside = S_ISDIR(status.st_mode) && status.st_dev == device_;
    return is_inside ? take_entries(place) : Result<>();
  }

 private:
  Result<> take_entries(const TreePlace& place) {
    if (depth_ >= kMostDepth) {
      return failure(ErrorCode::ResourceExhausted,
                     fmt::format("there are more than {} directories in each other", kMostDepth));
    }
    ++depth_;
    TRY(each_entry(place.directory, place.name, [&](int opened, const std::string& entry) {
      return take({opened, entry, place.path + "/" + entry});
    }));
    --depth_;
    return {};
  }

  const CaptureRules& rules_;
  dev_t device_;
  std::vector<Captured>& found_;
  int depth_ = 0;
};

}  // namespace

Result<> each_entry(int directory, const std::string& name,
                    const std::function<Result<>(int opened, const std::string& entry)>& visit) {
  // The name comes from the caller, so that it may be shown whole.
  const auto links = directory == AT_FDCWD ? Links::Follow : Links::Refuse;
  UniqueFd opened = TRY(open_beneath(directory, name, O_RDONLY | O_DIRECTORY, 0, links));
  const std::unique_ptr<DIR, CloseDirectory> entries(::fdopendir(opened.get()));
  if (!entries) return syscall_failure("open", name);
  const int number = opened.release();  // owned by the DIR from here on
  for (;;) {
    const dirent* entry = ::readdir(entries.get());  // NOLINT(concurrency-mt-unsafe): one thread
    if (entry == nullptr) return {};
    const std::string found = entry->d_name;
    if (is_plain_name(found)) TRY(visit(number, found));
  }
}

Result<Image> capture_entry(int directory, const std::string& name, const struct stat& status,
                            Budget& budget) {
  Image image = image_of(status);
  if (image.info.kind == wire::FileKind::Other) {
    return failure(ErrorCode::Unsupported, name + " is a FIFO, a socket or a device");
  }
  std::string bytes;
  if (S_ISLNK(status.st_mode)) image.info.target = read_link(directory, name);
  if (S_ISREG(status.st_mode)) {
    TRY(spend(budget, static_cast<std::uint64_t>(status.st_size)));
    bytes = TRY(read_entry(directory, name, status, static_cast<std::uint64_t>(status.st_size)));
    image.info.size = bytes.size();
    image.content = std::make_shared<MemoryContent>(std::move(bytes));
    return image;
  }
  TRY(spend(budget, image.info.target.size()));
  return image;
}

Result<Present> look_at_entry(int directory, const std::string& name, Budget& budget) {
  Present present;
  if (::fstatat(directory, name.c_str(), &present.status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return present;
    return syscall_failure("stat", name);
  }
  const bool is_file = S_ISREG(present.status.st_mode);
  if (is_file && static_cast<std::uint64_t>(present.status.st_size) > budget.bytes) {
    present.image = image_of(present.status);
    const UniqueFd file = TRY(open_at(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    present.version = TRY(version_of(file.get()));
    return present;
  }
  present.image = image_of(present.status);
  if (present.image.info.kind == wire::FileKind::Other) return present;
  Budget one{budget.bytes, 1};
  present.image = TRY(capture_entry(directory, name, present.status, one));
  budget.bytes = one.bytes;
  if (is_file)
    present.version =
        full_version(static_cast<const MemoryContent&>(*present.image.content).bytes());
  return present;
}

bool has_same_shape(const Image& left, const Image& right) {
  return left.info.kind == right.info.kind && left.info.mode == right.info.mode &&
         left.owner == right.owner && left.group == right.group &&
         left.info.target == right.info.target;
}

Result<> capture_tree(const TreePlace& place, const CaptureRules& rules,
                      std::vector<Captured>& found) {
  struct stat top {};
  if (::fstatat(place.directory, place.name.c_str(), &top, AT_SYMLINK_NOFOLLOW) != 0) {
    return syscall_failure("stat", place.path);
  }
  return Capture(rules, top.st_dev, found).take(place);
}

Result<std::string> bytes_of(const Content& content, std::uint64_t most) {
  if (const auto* memory = dynamic_cast<const MemoryContent*>(&content)) return memory->bytes();
  const UniqueFd file = TRY(content.open());
  return read_to_end(file.get(), content.bytes_kept(), most);
}

}  // namespace nutshell::init
