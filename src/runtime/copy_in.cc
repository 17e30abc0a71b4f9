#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/beneath.h"
#include "base/file.h"
#include "runtime/copy.h"
#include "runtime/copy_place.h"

namespace nutshell {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Opens without waiting, in case a FIFO took the place of the file.
constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

Result<std::string> read_some(int fd, std::size_t most) {
  std::string bytes(most, '\0');
  for (;;) {
    const ssize_t count = ::read(fd, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.resize(static_cast<std::size_t>(count));
      return bytes;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return syscall_failure("read");
    TRY(wait_for(fd, POLLIN, Deadline::never()));  // standard input may be non-blocking
  }
}

// Sends one source, parents before children.
class TreeSender {
 public:
  TreeSender(wire::InitClient& client, std::string target)
      : client_(client), target_(std::move(target)) {}

  // `path` is relative to the source; empty for the source itself.
  Result<> send_file(const UniqueFd& file, const std::string& path);
  Result<> send_directory(UniqueFd directory, const std::string& path);
  [[nodiscard]] CopyReport report() && { return std::move(report_); }

 private:
  Result<> send_content(DIR* directory, const std::string& path);
  Result<> send_entry(int directory, const std::string& name, const std::string& path);
  Result<> send_link(int directory, const std::string& name, const std::string& path);
  // Returns false if it was there already.
  Result<bool> make_directory(const std::string& path, unsigned mode);
  [[nodiscard]] std::string inside(const std::string& path) const {
    return path.empty() ? target_ : target_ + "/" + path;
  }

  wire::InitClient& client_;
  std::string target_;
  CopyReport report_;
};

Result<> TreeSender::send_file(const UniqueFd& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return syscall_failure("stat", path);
  if (!S_ISREG(status.st_mode)) {
    return failure(ErrorCode::Cancelled, fmt::format("{} changed while it was copied", path));
  }
  wire::WriteFile request;
  request.path = inside(path);
  request.mode = status.st_mode & 0777U;
  auto written = client_.write_file(request, [&](std::size_t most) -> Result<std::string> {
    std::string bytes = TRY(read_some(file.get(), most));
    report_.bytes += bytes.size();
    return bytes;
  });
  if (!written) return while_doing("copy to " + request.path, std::move(written).error());
  ++report_.files;
  return {};
}

Result<bool> TreeSender::make_directory(const std::string& path, unsigned mode) {
  const std::string where = inside(path);
  auto made = client_.make_directory({where, mode, wire::IfExists::Refuse});
  if (made) return true;
  if (made.error().code != ErrorCode::AlreadyExists) return Failure(std::move(made).error());
  if (TRY(client_.stat_target(where)).kind == wire::FileKind::Directory) return false;
  return failure(ErrorCode::AlreadyExists, fmt::format("{} is there and is no directory", where));
}

Result<> TreeSender::send_directory(UniqueFd directory, const std::string& path) {
  if (static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) >= kMostCopyDepth) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("the tree is more than {} directories deep", kMostCopyDepth));
  }
  struct stat status {};
  if (::fstat(directory.get(), &status) != 0) return syscall_failure("stat", path);
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(directory.get()));
  if (!stream) return syscall_failure("open", path);
  (void)directory.release();  // the stream owns it from here on

  // The mode is set last, because it may forbid writing.
  const unsigned mode = status.st_mode & 0777U;
  const bool is_new = TRY(make_directory(path, mode | 0700U));
  TRY(send_content(stream.get(), path));
  if (!is_new || (mode & 0700U) == 0700U) return {};
  return client_.make_directory({inside(path), mode, wire::IfExists::SetMode});
}

Result<> TreeSender::send_content(DIR* directory, const std::string& path) {
  const std::string prefix = path.empty() ? "" : path + "/";
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory);  // NOLINT(concurrency-mt-unsafe): a stream of ours
    if (entry == nullptr) return errno == 0 ? Result<>() : syscall_failure("read", path);
    const std::string name = entry->d_name;
    if (is_plain_name(name)) TRY(send_entry(::dirfd(directory), name, prefix + name));
  }
}

Result<> TreeSender::send_entry(int directory, const std::string& name, const std::string& path) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return syscall_failure("stat", path);
  }
  switch (status.st_mode & S_IFMT) {
    case S_IFREG:
      return send_file(TRY(open_at(directory, name.c_str(), kReadFlags | O_NOFOLLOW)), path);
    case S_IFDIR:
      return send_directory(
          TRY(open_at(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)), path);
    case S_IFLNK:
      return send_link(directory, name, path);
    default:
      report_.skipped.push_back(path);
      return {};
  }
}

Result<> TreeSender::send_link(int directory, const std::string& name, const std::string& path) {
  std::array<char, 4096> target{};
  const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  if (size < 0) return syscall_failure("read link", path);
  TRY(client_.make_link(
      {inside(path), std::string(target.data(), static_cast<std::size_t>(size))}));
  ++report_.files;
  return {};
}

Result<> check_parent(wire::InitClient& client, const std::string& target) {
  const auto [parent, name] = TRY(split_target(target));
  const auto info = client.stat_target(parent);
  const bool is_missing = !info && info.error().code == ErrorCode::NotFound;
  if (!info && !is_missing) return Failure(info.error());
  if (is_missing || info->kind != wire::FileKind::Directory) return no_parent(parent, target);
  return {};
}

Result<std::string> find_place(wire::InitClient& client, wire::FileKind kind,
                               const std::string& name, const std::string& target) {
  const auto info = client.stat_target(target);
  if (!info && info.error().code != ErrorCode::NotFound) return Failure(info.error());
  TargetKind target_kind = TargetKind::Nothing;
  if (info) {
    target_kind =
        info->kind == wire::FileKind::Directory ? TargetKind::Directory : TargetKind::Other;
  }
  if (TRY(choose_place(kind, target_kind, target)) == Place::Inside) {
    return name.empty() ? target : target + "/" + name;
  }
  TRY(check_parent(client, target));
  return target;
}

}  // namespace

Result<CopyReport> copy_in(wire::InitClient& client, const std::filesystem::path& source,
                           const std::string& target) {
  struct stat status {};
  if (::stat(source.c_str(), &status) != 0) return syscall_failure("copy", source.native());
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("{} is neither a file nor a directory", source.native()));
  }
  const bool is_tree = S_ISDIR(status.st_mode);
  UniqueFd opened = TRY(open_file(source, is_tree ? O_RDONLY | O_DIRECTORY : kReadFlags));
  const auto kind = is_tree ? wire::FileKind::Directory : wire::FileKind::Regular;
  TreeSender sender(client, TRY(find_place(client, kind, last_name(source.native()), target)));
  TRY(is_tree ? sender.send_directory(std::move(opened), "") : sender.send_file(opened, ""));
  return std::move(sender).report();
}

Result<> copy_stream_in(wire::InitClient& client, int fd, const std::string& target,
                        unsigned mode) {
  TRY(check_parent(client, target));
  wire::WriteFile request;
  request.path = target;
  request.mode = mode & 0777U;
  return client.write_file(request, [fd](std::size_t most) { return read_some(fd, most); });
}

}  // namespace nutshell
