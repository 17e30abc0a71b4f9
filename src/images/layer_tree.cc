#include "images/layer_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/beneath.h"
#include "base/file.h"
#include "base/unique_fd.h"
#include "images/image_name.h"

namespace nutshell::images {
namespace {

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::string_view kReserved = ".wh..wh.";  // the bookkeeping of another union file system
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

Result<std::vector<std::string>> names_in(int directory) {
  UniqueFd copy = TRY(open_at(directory, ".", kDirectory));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy.get()), ::closedir);
  if (!stream) return syscall_failure("read a directory");
  (void)copy.release();  // the stream owns it now
  std::vector<std::string> names;
  errno = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return syscall_failure("read a directory");
  return names;
}

Result<> remove_entry(int directory, const std::string& name);

Result<> remove_all_in(int directory) {
  for (const std::string& name : TRY(names_in(directory)))
    TRY(remove_entry(directory, name));
  return {};
}

// Succeeds if it is already gone.
Result<> remove_entry(int directory, const std::string& name) {
  if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return syscall_failure("remove", shown(name));
  {
    const UniqueFd inner = TRY(open_at(directory, name.c_str(), kDirectory));
    TRY(remove_all_in(inner.get()));
  }
  if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0)
    return syscall_failure("remove", shown(name));
  return {};
}

// Copies a file that has the most hard links that its file system allows.
Result<> copy_file(int from, int to, const std::string& name, const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return syscall_failure(EMLINK, "link", shown(name));
  const UniqueFd source = TRY(open_at(from, name.c_str(), O_RDONLY | O_NOFOLLOW));
  const UniqueFd target =
      TRY(open_at(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL, status.st_mode & 0777U));
  for (off_t left = status.st_size; left > 0;) {
    const ssize_t count =
        ::sendfile(target.get(), source.get(), nullptr, static_cast<std::size_t>(left));
    if (count <= 0) return syscall_failure("copy", shown(name));
    left -= count;
  }
  const timespec times[2] = {status.st_atim, status.st_mtim};
  if (::fchmod(target.get(), status.st_mode & 0777U) != 0 || ::futimens(target.get(), times) != 0)
    return syscall_failure("copy", shown(name));
  return {};
}

Result<> take_away(int to, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name == kOpaque) TRY(remove_all_in(to));
  }
  for (const std::string& name : names) {
    if (!name.starts_with(kWhiteout) || name.starts_with(kReserved)) continue;
    const std::string hidden = name.substr(kWhiteout.size());
    if (!is_plain_name(hidden)) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("the layer takes away '{}', which is not a file", shown(hidden)));
    }
    TRY(remove_entry(to, hidden));
  }
  return {};
}

Result<> add_directory(int from, int to);

Result<> add_inner_directory(int from, int to, const std::string& name, const struct stat& status) {
  struct stat old {};
  const bool is_there = ::fstatat(to, name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && !S_ISDIR(old.st_mode)) TRY(remove_entry(to, name));
  if (::mkdirat(to, name.c_str(), 0700) != 0 && errno != EEXIST)
    return syscall_failure("mkdir", shown(name));
  const UniqueFd source = TRY(open_at(from, name.c_str(), kDirectory));
  const UniqueFd target = TRY(open_at(to, name.c_str(), kDirectory));
  TRY(add_directory(source.get(), target.get()));
  const timespec times[2] = {status.st_atim, status.st_mtim};
  if (::fchmod(target.get(), status.st_mode & 01777U) != 0 || ::futimens(target.get(), times) != 0)
    return syscall_failure("finish directory", shown(name));
  return {};
}

// Removes files of lower layers first: whiteouts never hide files of their own layer.
Result<> add_directory(int from, int to) {
  const auto names = TRY(names_in(from));
  TRY(take_away(to, names));
  for (const std::string& name : names) {
    if (name.starts_with(kWhiteout)) continue;
    struct stat status {};
    if (::fstatat(from, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return syscall_failure("stat", shown(name));
    if (S_ISDIR(status.st_mode)) {
      TRY(add_inner_directory(from, to, name, status));
      continue;
    }
    TRY(remove_entry(to, name));
    if (::linkat(from, name.c_str(), to, name.c_str(), 0) == 0) continue;
    if (errno != EMLINK) return syscall_failure("link", shown(name));
    TRY(copy_file(from, to, name, status));
  }
  return {};
}

}  // namespace

Result<> add_layer(const std::filesystem::path& layer, const std::filesystem::path& root) {
  const UniqueFd from = TRY(open_file(layer, kDirectory));
  const UniqueFd to = TRY(open_file(root, kDirectory));
  return add_directory(from.get(), to.get());
}

void remove_tree(const std::filesystem::path& path) {
  // The next sweep tries again to remove what is left.
  (void)remove_entry(AT_FDCWD, path.native());
}

}  // namespace nutshell::images
