#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/beneath.h"
#include "base/file.h"
#include "wire/codec.h"
#include "wire/tree_stream.h"

namespace nutshell::wire {
namespace {

Failure malformed() {
  return failure(ErrorCode::Corrupt, "the host sends something else than a directory");
}

// The bytes of all batches in a row. Reads exactly what belongs to them.
class BatchReader {
 public:
  BatchReader(int stream, const Deadline& deadline) : stream_(stream), deadline_(deadline) {}

  Result<std::string> take(std::size_t size) {
    std::string bytes;
    while (bytes.size() < size)
      bytes += TRY(take_some(size - bytes.size()));
    return bytes;
  }

  // At least one byte, valid until the next call.
  Result<std::string_view> take_some(std::size_t most) {
    if (used_ == batch_.size()) TRY(next_batch());
    if (batch_.empty()) return malformed();
    const std::string_view piece = std::string_view(batch_).substr(used_, most);
    used_ += piece.size();
    return piece;
  }

  Result<std::uint32_t> take_number() {
    const std::string bytes = TRY(take(sizeof(std::uint32_t)));
    std::uint32_t number = 0;
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&number));
    return number;
  }

  // The empty batch must come next.
  Result<> finish() {
    if (used_ != batch_.size()) return malformed();
    TRY(next_batch());
    return batch_.empty() ? Result<>() : malformed();
  }

 private:
  Result<> next_batch() {
    std::uint32_t size = 0;
    TRY(read_into(reinterpret_cast<char*>(&size), sizeof size));
    if (size > kMostBatchBytes) return malformed();
    used_ = 0;
    batch_.resize(size);
    return read_into(batch_.data(), size);
  }

  Result<> read_into(char* space, std::size_t size) {
    while (size > 0) {
      if (!TRY(wait_for(stream_, POLLIN, deadline_)))
        return failure(ErrorCode::DeadlineExceeded, "the directory does not come in time");
      const ssize_t count = ::read(stream_, space, size);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count <= 0)
        return failure(ErrorCode::Unavailable, "the host hung up while it sent the directory");
      space += count;
      size -= static_cast<std::size_t>(count);
    }
    return {};
  }

  int stream_;
  const Deadline& deadline_;
  std::string batch_;
  std::size_t used_ = 0;
};

// Called after the content was written, because the mode of a directory may forbid writing to it.
// The owner can read all that the host could read.
Result<> finish_entry(int made, const TreeEntry& entry) {
  const mode_t readable = entry.kind == TreeEntry::Kind::Directory ? 0500 : 0400;
  const std::array<timespec, 2> times = {
      timespec{entry.accessed_seconds, entry.accessed_nanoseconds},
      timespec{entry.modified_seconds, entry.modified_nanoseconds}};
  if (::futimens(made, times.data()) != 0 || ::fchmod(made, entry.mode | readable) != 0)
    return syscall_failure("finish", entry.name);
  return {};
}

class TreeReceiver {
 public:
  TreeReceiver(BatchReader& reader, int to) : reader_(reader), to_(to) {}

  Result<> receive() {
    for (;;) {
      TreeEntry entry = TRY(next_entry());
      const bool is_named = entry.kind == TreeEntry::Kind::Leave || is_plain_name(entry.name);
      if (!is_named) return malformed();
      switch (entry.kind) {
        case TreeEntry::Kind::Directory:
          TRY(enter(std::move(entry)));
          break;
        case TreeEntry::Kind::File:
          TRY(make_file(entry));
          break;
        case TreeEntry::Kind::Link:
          TRY(make_link(entry));
          break;
        case TreeEntry::Kind::Leave:
          if (open_.empty()) return reader_.finish();
          TRY(finish_entry(open_.back().directory.get(), open_.back().entry));
          open_.pop_back();
          break;
        default:
          return malformed();
      }
    }
  }

 private:
  struct Open {
    UniqueFd directory;
    TreeEntry entry;
  };

  [[nodiscard]] int here() const { return open_.empty() ? to_ : open_.back().directory.get(); }

  Result<TreeEntry> next_entry() {
    const std::uint32_t size = TRY(reader_.take_number());
    if (size > kMostEntryBytes) return malformed();
    return decode<TreeEntry>(TRY(reader_.take(size)));
  }

  Result<> enter(TreeEntry entry) {
    if (open_.size() >= kMostTreeDepth) return malformed();
    const char* name = entry.name.c_str();
    if (::mkdirat(here(), name, 0700) != 0) return syscall_failure("make", entry.name);
    UniqueFd made = TRY(open_at(here(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    open_.push_back({std::move(made), std::move(entry)});
    return {};
  }

  Result<> make_file(const TreeEntry& entry) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    const UniqueFd made = TRY(open_at(here(), entry.name.c_str(), kFlags, 0600));
    for (std::uint32_t left = TRY(reader_.take_number()); left > 0;
         left = TRY(reader_.take_number())) {
      while (left > 0) {
        const std::string_view piece = TRY(reader_.take_some(left));
        auto written = write_all(made.get(), piece);
        if (!written) return while_doing(entry.name, std::move(written).error());
        left -= static_cast<std::uint32_t>(piece.size());
      }
    }
    return finish_entry(made.get(), entry);
  }

  Result<> make_link(const TreeEntry& entry) {
    if (entry.target.find('\0') != std::string::npos) return malformed();
    if (::symlinkat(entry.target.c_str(), here(), entry.name.c_str()) != 0)
      return syscall_failure("link", entry.name);
    return {};
  }

  BatchReader& reader_;
  int to_;
  std::vector<Open> open_;
};

}  // namespace

Result<> receive_tree(int stream, int to, const Deadline& deadline) {
  BatchReader reader(stream, deadline);
  return TreeReceiver(reader, to).receive();
}

}  // namespace nutshell::wire
