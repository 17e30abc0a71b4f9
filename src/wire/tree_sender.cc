#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/beneath.h"
#include "base/defer.h"
#include "base/file.h"
#include "wire/codec.h"
#include "wire/start_report.h"
#include "wire/tree_stream.h"

namespace nutshell::wire {
namespace {

constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_MNT_ID;

// Gathers bytes into batches. Sends nothing after an early answer of the other side.
class BatchWriter {
 public:
  BatchWriter(int stream, const Deadline& deadline) : stream_(stream), deadline_(deadline) {
    batch_.reserve(kMostBatchBytes);
  }

  [[nodiscard]] bool is_answered() const { return is_answered_; }

  Result<> put(std::string_view bytes) {
    if (batch_.size() + bytes.size() > kMostBatchBytes) TRY(flush());
    batch_ += bytes;
    return {};
  }

  Result<> put_number(std::uint32_t number) {
    return put({reinterpret_cast<const char*>(&number), sizeof number});
  }

  // Reads one piece of a file straight into the batch; returns 0 at the end of the file.
  Result<std::size_t> put_piece(int file, std::size_t most) {
    constexpr std::size_t kLeastRoom = 4096;
    if (batch_.size() + sizeof(std::uint32_t) + kLeastRoom > kMostBatchBytes) TRY(flush());
    const std::size_t head = batch_.size();
    const std::size_t room = kMostBatchBytes - head - sizeof(std::uint32_t);
    batch_.resize(head + sizeof(std::uint32_t) + std::min(room, most));
    ssize_t count = -1;
    do {
      count = ::read(file, batch_.data() + head + sizeof(std::uint32_t), std::min(room, most));
    } while (count < 0 && errno == EINTR);
    const int problem = errno;
    batch_.resize(head + (count > 0 ? sizeof(std::uint32_t) + static_cast<std::size_t>(count) : 0));
    if (count < 0) return syscall_failure(problem, "read");
    const auto size = static_cast<std::uint32_t>(count);
    if (count > 0) std::copy_n(reinterpret_cast<const char*>(&size), sizeof size, &batch_[head]);
    return static_cast<std::size_t>(count);
  }

  Result<> finish() {
    TRY(flush());
    constexpr std::uint32_t kLast = 0;
    return send({reinterpret_cast<const char*>(&kLast), sizeof kLast});
  }

 private:
  Result<> flush() {
    if (batch_.empty()) return {};
    const auto size = static_cast<std::uint32_t>(batch_.size());
    TRY(send({reinterpret_cast<const char*>(&size), sizeof size}));
    TRY(send(batch_));
    batch_.clear();
    return {};
  }

  Result<> send(std::string_view bytes) {
    while (!bytes.empty()) {
      pollfd state{stream_, POLLIN | POLLOUT, 0};
      const int ready = ::poll(&state, 1, deadline_.poll_timeout());
      if (ready < 0 && errno == EINTR) continue;
      if (ready < 0) return syscall_failure("poll", "the stream to init");
      if (ready == 0)
        return failure(ErrorCode::DeadlineExceeded, "init does not take the workspace in time");
      if ((state.revents & POLLOUT) == 0 || (state.revents & POLLIN) != 0) return answered();
      const ssize_t count =
          ::send(stream_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count < 0) return answered();  // hung up: the answer tells more
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
  }

  Failure answered() {
    is_answered_ = true;
    return failure(ErrorCode::Unavailable, "init has stopped reading");
  }

  int stream_;
  const Deadline& deadline_;
  std::string batch_;
  bool is_answered_ = false;
};

// Root may read everything, but the sandbox gets only what the directory's owner may read, as with
// a native workspace.
class Reader {
 public:
  explicit Reader(const struct statx& directory)
      : is_root_(::geteuid() == 0), user_(directory.stx_uid), group_(directory.stx_gid) {}

  [[nodiscard]] bool may_read(const struct statx& status) const {
    if (!is_root_) return true;  // opening it tells
    const unsigned wanted = S_ISDIR(status.stx_mode) ? 05U : 04U;
    const unsigned shift = status.stx_uid == user_ ? 6U : (status.stx_gid == group_ ? 3U : 0U);
    return ((status.stx_mode >> shift) & wanted) == wanted;
  }

 private:
  bool is_root_;
  std::uint32_t user_;
  std::uint32_t group_;
};

Result<struct statx> status_of(int directory, const char* name) {
  struct statx status {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name == '\0' ? AT_EMPTY_PATH : 0);
  if (::statx(directory, name, flags, kWanted, &status) != 0) return syscall_failure("stat", name);
  return status;
}

TreeEntry entry_of(TreeEntry::Kind kind, const std::string& name, const struct statx& status) {
  TreeEntry entry;
  entry.kind = kind;
  entry.name = name;
  entry.mode = status.stx_mode & 07777U;
  entry.accessed_seconds = status.stx_atime.tv_sec;
  entry.accessed_nanoseconds = status.stx_atime.tv_nsec;
  entry.modified_seconds = status.stx_mtime.tv_sec;
  entry.modified_nanoseconds = status.stx_mtime.tv_nsec;
  return entry;
}

class TreeSender {
 public:
  TreeSender(BatchWriter& writer, const struct statx& directory)
      : writer_(writer), reader_(directory), mount_(directory.stx_mnt_id) {}

  // NOLINTNEXTLINE(misc-no-recursion): no deeper than kMostTreeDepth
  Result<> content(UniqueFd opened, const std::string& path, std::size_t depth) {
    if (depth >= kMostTreeDepth)
      return failure(ErrorCode::ResourceExhausted,
                     fmt::format("{} is more than {} directories deep", path, kMostTreeDepth));
    DIR* entries = ::fdopendir(opened.get());
    if (entries == nullptr) return syscall_failure("read the directory", path);
    const int directory = opened.release();  // owned by the stream from here on
    const Defer closed([entries] { ::closedir(entries); });
    for (;;) {
      const dirent* found = ::readdir(entries);  // NOLINT(concurrency-mt-unsafe): a stream of ours
      if (found == nullptr) return put({});      // Leave
      const std::string name = found->d_name;
      if (is_plain_name(name)) TRY(entry(directory, name, path + name, depth));
    }
  }

  [[nodiscard]] SpecialFiles take_special() { return std::move(special_); }

 private:
  Result<> put(const TreeEntry& entry) {
    const std::string bytes = encode(entry);
    TRY(writer_.put_number(static_cast<std::uint32_t>(bytes.size())));
    return writer_.put(bytes);
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  Result<> entry(int directory, const std::string& name, const std::string& path,
                 std::size_t depth) {
    auto seen = status_of(directory, name.c_str());
    if (!seen) return without(std::move(seen).error());
    if (S_ISLNK(seen->stx_mode)) return link(directory, name, *seen);
    if (!S_ISDIR(seen->stx_mode) && !S_ISREG(seen->stx_mode)) return leave_out(path);
    if (!reader_.may_read(*seen)) return {};
    const int kind = S_ISDIR(seen->stx_mode) ? O_DIRECTORY : O_NONBLOCK | O_NOCTTY;
    auto opened = open_at(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | kind);
    if (!opened) return without(std::move(opened).error());
    // Another file may have taken the name since it was looked at.
    const struct statx status = TRY(status_of(opened->get(), ""));
    if (!reader_.may_read(status)) return {};
    if (S_ISREG(status.stx_mode)) return file(*opened, name, status);
    if (!S_ISDIR(status.stx_mode)) return leave_out(path);
    TRY(put(entry_of(TreeEntry::Kind::Directory, name, status)));
    if (is_elsewhere(status)) return put({});
    return content(std::move(*opened), path + "/", depth + 1);
  }

  // Kernels before Linux 5.8 tell no number of a mount: there all directories are sent.
  [[nodiscard]] bool is_elsewhere(const struct statx& status) const {
    return (status.stx_mask & STATX_MNT_ID) != 0 && status.stx_mnt_id != mount_;
  }

  static Result<> without(Error error) {
    const bool is_accepted =
        error.code == ErrorCode::PermissionDenied || error.code == ErrorCode::NotFound;
    if (is_accepted) return {};
    return Failure(std::move(error));
  }

  Result<> leave_out(const std::string& path) {
    if (special_.named.size() < SpecialFiles::kMostNamed) special_.named.push_back(path);
    ++special_.count;
    return {};
  }

  Result<> link(int directory, const std::string& name, const struct statx& status) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
    if (size < 0) return without(syscall_failure("read the link", name).value());
    TreeEntry entry = entry_of(TreeEntry::Kind::Link, name, status);
    entry.target.assign(target.data(), static_cast<std::size_t>(size));
    return put(entry);
  }

  // A file that grows meanwhile is sent as long as it was.
  Result<> file(const UniqueFd& opened, const std::string& name, const struct statx& status) {
    if (is_elsewhere(status)) return {};
    TRY(put(entry_of(TreeEntry::Kind::File, name, status)));
    std::uint64_t left = status.stx_size;
    while (left > 0) {
      const auto count = writer_.put_piece(opened.get(), left);
      if (!count)
        return writer_.is_answered() ? Failure(count.error())
                                     : while_doing(name, Error(count.error()));
      if (*count == 0) break;
      left -= std::min<std::uint64_t>(left, *count);
    }
    return writer_.put_number(0);
  }

  BatchWriter& writer_;
  Reader reader_;
  std::uint64_t mount_;
  SpecialFiles special_;
};

}  // namespace

std::string SpecialFiles::text(const std::string& directory) const {
  std::string names;
  for (const std::string& name : named)
    names += (names.empty() ? "" : ", ") + name;
  if (count > named.size()) names += fmt::format(" and {} more", count - named.size());
  return fmt::format(
      "workspace {} holds {}, which do not work in the sandbox: {}", directory,
      count == 1 ? "a socket, FIFO or device" : fmt::format("{} sockets, FIFOs or devices", count),
      names);
}

Result<SpecialFiles> send_tree(int stream, const std::filesystem::path& directory,
                               const Deadline& deadline) {
  UniqueFd opened = TRY(open_file(directory, O_RDONLY | O_DIRECTORY));
  const struct statx status = TRY(status_of(opened.get(), ""));
  BatchWriter writer(stream, deadline);
  TreeSender sender(writer, status);
  auto sent = sender.content(std::move(opened), "", 0);
  if (sent) sent = writer.finish();
  if (!sent && !writer.is_answered()) return Failure(std::move(sent).error());
  return sender.take_special();
}

Result<SpecialFiles> bring_directory(int stream, const std::filesystem::path& directory,
                                     const Deadline& deadline) {
  auto special = send_tree(stream, directory, deadline);
  if (!special) return while_doing("copy the workspace", std::move(special).error());
  TRY(await_copy(stream, deadline));
  return special;
}

}  // namespace nutshell::wire
