#include "base/copy_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/beneath.h"
#include "base/defer.h"
#include "base/file.h"

namespace nutshell {
namespace {

constexpr int kMostDepth = 128;  // two descriptors each
constexpr std::size_t kChunkBytes = 1U << 20U;

Result<> copy_bytes(int from, int to, const std::string& name) {
  for (;;) {
    const ssize_t count = ::sendfile(to, from, nullptr, kChunkBytes);
    if (count == 0) return {};
    if (count < 0 && errno != EINTR) return syscall_failure("copy", name);
  }
}

// Called after the content was copied, because the mode of a directory may forbid writing to it.
// The new owner may read all that the caller could read.
Result<> finish(int made, const struct stat& status, const std::string& name) {
  const mode_t readable = S_ISDIR(status.st_mode) ? 0500 : 0400;
  const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
  if (::futimens(made, times.data()) != 0 ||
      ::fchmod(made, (status.st_mode & 07777U) | readable) != 0) {
    return syscall_failure("finish", name);
  }
  return {};
}

class TreeCopy {
 public:
  explicit TreeCopy(Unreadable unreadable) : unreadable_(unreadable) {}

  Result<> content(UniqueFd from, int to, int depth) {
    if (depth > kMostDepth) {
      return failure(ErrorCode::ResourceExhausted,
                     fmt::format("more than {} directories deep", kMostDepth));
    }
    DIR* entries = ::fdopendir(from.get());
    if (entries == nullptr) return syscall_failure("read the directory");
    const int directory = from.release();  // owned by the stream from here on
    const Defer closed([entries] { ::closedir(entries); });
    for (;;) {
      const dirent* found = ::readdir(entries);  // NOLINT(concurrency-mt-unsafe): a stream of ours
      if (found == nullptr) return {};
      const std::string name = found->d_name;
      if (is_plain_name(name)) TRY(entry({directory, to, name}, depth));
    }
  }

 private:
  struct Place {
    int from;
    int to;
    const std::string& name;
  };

  Result<> entry(const Place& place, int depth) {
    struct stat status {};
    if (::fstatat(place.from, place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? Result<>() : syscall_failure("stat", place.name);
    }
    if (S_ISLNK(status.st_mode)) return link(place);
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) return {};
    const int kind = S_ISDIR(status.st_mode) ? O_DIRECTORY : O_NONBLOCK;
    auto opened = open_at(place.from, place.name.c_str(), O_RDONLY | O_NOFOLLOW | kind);
    if (!opened) return without(std::move(opened).error());
    // Another file may have taken the name since fstatat().
    if (::fstat(opened->get(), &status) != 0) return syscall_failure("stat", place.name);
    if (S_ISDIR(status.st_mode)) return directory(place, std::move(*opened), status, depth);
    return S_ISREG(status.st_mode) ? file(place, *opened, status) : Result<>();
  }

  Result<> without(Error error) const {
    const bool is_accepted =
        error.code == ErrorCode::PermissionDenied && unreadable_ == Unreadable::LeftOut;
    if (is_accepted || error.code == ErrorCode::NotFound) return {};
    return Failure(std::move(error));
  }

  static Result<> link(const Place& place) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size =
        ::readlinkat(place.from, place.name.c_str(), target.data(), target.size() - 1);
    if (size < 0) return syscall_failure("read the link", place.name);
    if (::symlinkat(target.data(), place.to, place.name.c_str()) != 0)
      return syscall_failure("link", place.name);
    return {};
  }

  static Result<> file(const Place& place, const UniqueFd& from, const struct stat& status) {
    const UniqueFd made =
        TRY(open_at(place.to, place.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    TRY(copy_bytes(from.get(), made.get(), place.name));
    return finish(made.get(), status, place.name);
  }

  Result<> directory(const Place& place, UniqueFd from, const struct stat& status, int depth) {
    if (::mkdirat(place.to, place.name.c_str(), 0700) != 0)
      return syscall_failure("make", place.name);
    const UniqueFd made =
        TRY(open_at(place.to, place.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    auto copied = content(std::move(from), made.get(), depth + 1);
    if (!copied) return while_doing(place.name, std::move(copied).error());
    return finish(made.get(), status, place.name);
  }

  Unreadable unreadable_;
};

}  // namespace

Result<> copy_tree(int from, int to, Unreadable unreadable) {
  UniqueFd source = TRY(open_at(from, ".", O_RDONLY | O_DIRECTORY));
  return TreeCopy(unreadable).content(std::move(source), to, 0);
}

}  // namespace nutshell
