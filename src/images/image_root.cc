#include "images/image_root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "base/file.h"
#include "base/parent_death.h"
#include "images/image_name.h"
#include "images/image_store.h"
#include "images/layer_tree.h"
#include "images/user_place.h"

namespace nutshell::images {
namespace {

constexpr std::string_view kPartial = ".partial";

Result<> unpack(const std::filesystem::path& unpacker, const std::string& archive,
                const std::filesystem::path& target) {
  const UniqueFd input = TRY(open_file(archive, O_RDONLY));
  const pid_t own = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return syscall_failure("start", unpacker.native());
  if (child == 0) {
    if (!die_with_parent_process(own)) ::_exit(127);
    ::dup2(input.get(), 0);
    ::execl(unpacker.c_str(), "nutshell-unpack", target.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("image {} could not be unpacked: give a tar archive of a root file "
                             "system, for example from 'docker export'",
                             archive));
}

// The lock ends with its holder: a partial directory that can be locked is abandoned.
Result<UniqueFd> lock_directory(const std::filesystem::path& path) {
  UniqueFd fd = TRY(open_file(path, O_RDONLY | O_DIRECTORY));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return syscall_failure("lock", path.native());
  return fd;
}

Result<std::string> unpack_once(const std::string& archive, const struct stat& status,
                                const std::filesystem::path& unpacker) {
  const std::filesystem::path store = unpacked_directory();
  std::error_code error;
  std::filesystem::create_directories(store, error);
  if (error) return syscall_failure(error.value(), "make", store.native());
  const std::string key =
      fmt::format("{:x}-{:x}-{:x}-{:x}.{:09}", status.st_dev, status.st_ino, status.st_size,
                  status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  const std::filesystem::path done = store / key;
  if (std::filesystem::exists(done)) return done.native();
  const std::filesystem::path partial = store / fmt::format("{}.{}{}", key, ::getpid(), kPartial);
  if (::mkdir(partial.c_str(), 0755) != 0) return syscall_failure("mkdir", partial.native());
  const UniqueFd lock = TRY(lock_directory(partial));
  auto unpacked = unpack(unpacker, archive, partial);
  if (!unpacked) {
    remove_tree(partial);
    return Failure(std::move(unpacked).error());
  }
  std::filesystem::rename(partial, done, error);
  if (error && std::filesystem::exists(done)) remove_tree(partial);  // another process was quicker
  if (!std::filesystem::exists(done))
    return syscall_failure(error.value(), "rename", done.native());
  return done.native();
}

std::optional<ImageRoot> find_named(const std::string& image) {
  const auto store = ImageStore::open();
  if (!store) return std::nullopt;
  auto found = store->find(image);
  if (!found) return std::nullopt;
  return ImageRoot{store->root(found->id).native(), std::move(found->environment)};
}

Failure no_such_image(const std::string& image) {
  const auto store = ImageStore::open();
  if (!store) return Failure(store.error());
  const auto found = store->find(image);
  if (!found) return Failure(found.error());
  return failure(ErrorCode::Unavailable,
                 fmt::format("image {} was added or removed just now: try again", image));
}

}  // namespace

// A name takes precedence over a file of that name in the working directory, which may be
// untrusted.
Result<ImageRoot> root_of(const std::string& image, ImageNaming naming,
                          const std::filesystem::path& unpacker) {
  if (image.empty()) return ImageRoot{};
  if (auto named = find_named(image)) return ImageRoot(std::move(*named));
  if (naming == ImageNaming::NameOnly) return no_such_image(image);
  struct stat status {};
  if (::stat(image.c_str(), &status) != 0) {
    const int reason = errno;
    if (whole_name(image) && reason == ENOENT) return no_such_image(image);
    return failure(ErrorCode::NotFound,
                   fmt::format("image {}: {}; give a directory or a tar archive that holds a root "
                               "file system, or the name of an imported image",
                               image, ::strerrordesc_np(reason)));
  }
  if (S_ISREG(status.st_mode)) return ImageRoot{TRY(unpack_once(image, status, unpacker)), {}};
  std::error_code error;
  const auto absolute = std::filesystem::canonical(image, error);
  if (error) return syscall_failure(error.value(), "find image", image);
  return ImageRoot{absolute.native(), {}};
}

bool is_stored(const std::string& image) {
  const auto store = ImageStore::open();
  return store && store->find(image);
}

std::string seen_from_anywhere(const std::string& image) {
  std::error_code error;
  if (image.empty() || !std::filesystem::exists(image, error) || is_stored(image)) return image;
  return std::filesystem::absolute(image, error).native();
}

void sweep_unpacked(SweepMode mode, SweepReport& report) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(unpacked_directory(), error)) {
    if (!entry.path().native().ends_with(kPartial)) continue;
    const auto lock = lock_directory(entry.path());
    if (!lock) continue;  // another process is unpacking right now
    if (mode == SweepMode::Remove) remove_tree(entry.path());
    report.removed.push_back(fmt::format("unfinished image {}", entry.path().filename().native()));
  }
  if (auto store = ImageStore::open()) store->sweep(mode, report);
}

}  // namespace nutshell::images
