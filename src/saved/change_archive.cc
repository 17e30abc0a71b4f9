#include "saved/change_archive.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/file.h"
#include "wire/codec.h"

namespace nutshell::saved {
namespace {

constexpr std::string_view kMagic = "nutshell changes 1\n";
constexpr std::size_t kBufferBytes = 256U << 10U;
constexpr std::size_t kMostRecord = 64U << 10U;  // two paths and two links of 4 KiB fit
// The last bytes of the file: the size of the summary before them, and a mark.
constexpr std::string_view kMark = "complete";
constexpr std::size_t kTailBytes = sizeof(std::uint32_t) + kMark.size();
// An archive leaves a twentieth of the file system free.
constexpr std::uint64_t kFreeShare = 20;

std::string with_size(std::string_view bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::string text(sizeof size, '\0');
  std::memcpy(text.data(), &size, sizeof size);
  return text.append(bytes);
}

std::uint32_t size_in(std::string_view bytes) {
  std::uint32_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  return size;
}

Failure incomplete(std::string_view what) {
  return failure(ErrorCode::Corrupt, fmt::format("the saved changes are damaged: {}", what));
}

bool has_room(int file, std::uint64_t bytes) {
  struct statvfs system {};
  if (::fstatvfs(file, &system) != 0) return true;  // the write will tell
  const std::uint64_t left = system.f_bavail * system.f_frsize;
  return left >= bytes + system.f_blocks / kFreeShare * system.f_frsize;
}

}  // namespace

ArchiveWriter::ArchiveWriter(int file, ArchiveBounds bounds)
    : file_(file), bounds_(bounds), buffer_(kMagic) {}

Failure ArchiveWriter::too_large() const {
  return failure(ErrorCode::ResourceExhausted,
                 fmt::format("they are larger than {} bytes; NUTSHELL_SAVED_BYTES allows more",
                             bounds_.bytes));
}

Result<> ArchiveWriter::flush() {
  if (buffer_.empty()) return {};
  written_ += buffer_.size();
  if (written_ > bounds_.bytes) return too_large();
  if (!has_room(file_, buffer_.size())) {
    return failure(ErrorCode::ResourceExhausted, "the disk is nearly full");
  }
  TRY(write_all(file_, buffer_));
  buffer_.clear();
  return {};
}

Result<> ArchiveWriter::put(std::string_view bytes) {
  buffer_.append(bytes);
  return buffer_.size() < kBufferBytes ? Result<>() : flush();
}

Result<> ArchiveWriter::add(const wire::FileChange& change) {
  if (missing_ != 0) return failure(ErrorCode::Internal, "a file changed while it was saved");
  ++changes_;
  if (change.after.kind == wire::FileKind::Regular) missing_ = change.after.size;
  // A sparse file that is larger than everything allowed is refused before it is read.
  if (missing_ > bounds_.bytes) return too_large();
  if (missing_ > bounds_.content - content_) {
    return failure(
        ErrorCode::ResourceExhausted,
        fmt::format("sparse files and hard links count whole, and so its files have more "
                    "than the {} bytes of its disk limit",
                    bounds_.content));
  }
  content_ += missing_;
  const std::string record = wire::encode(change);
  if (record.size() > kMostRecord)
    return failure(ErrorCode::TooLarge, "a name in the workspace is too long");
  return put(with_size(record));
}

Result<> ArchiveWriter::add_content(std::string_view bytes) {
  if (bytes.size() > missing_) {
    return failure(ErrorCode::Internal, "a file grew while it was saved");
  }
  missing_ -= bytes.size();
  return put(bytes);
}

Result<> ArchiveWriter::finish(std::string why) {
  if (missing_ != 0) return failure(ErrorCode::Internal, "a file changed while it was saved");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const ArchiveSummary summary{
      changes_,
      static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(now).count()),
      std::move(why)};
  const std::string bytes = wire::encode(summary);
  TRY(put(bytes));
  TRY(put(with_size(bytes).substr(0, sizeof(std::uint32_t))));
  TRY(put(kMark));
  TRY(flush());
  if (::fdatasync(file_) != 0) return syscall_failure("fdatasync");
  return {};
}

Result<std::string> ArchiveReader::read_at(std::uint64_t offset, std::size_t size) const {
  std::string bytes(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const ssize_t count =
        ::pread(file_.get(), bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return syscall_failure("read", "the saved changes");
    if (count == 0) return incomplete("they end early");
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

Result<ArchiveReader> ArchiveReader::open(UniqueFd file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return syscall_failure("stat", "the saved changes");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < kMagic.size() + kTailBytes) return incomplete("they end early");
  ArchiveReader reader(std::move(file), {}, 0);
  if (TRY(reader.read_at(0, kMagic.size())) != kMagic) return incomplete("of another format");
  const std::string tail = TRY(reader.read_at(size - kTailBytes, kTailBytes));
  if (!tail.ends_with(kMark)) return incomplete("they have no end");
  const std::uint64_t length = size_in(tail);
  if (length > kMostRecord || length > size - kTailBytes - kMagic.size())
    return incomplete("a wrong size");
  reader.end_ = size - kTailBytes - length;
  reader.summary_ = TRY(wire::decode<ArchiveSummary>(TRY(reader.read_at(reader.end_, length))));
  reader.at_ = kMagic.size();
  return reader;
}

Result<std::optional<wire::FileChange>> ArchiveReader::next() {
  at_ += std::exchange(content_left_, 0);
  if (at_ == end_) return std::optional<wire::FileChange>();
  if (at_ > end_ || end_ - at_ < sizeof(std::uint32_t)) return incomplete("a record is cut");
  const std::uint32_t size = size_in(TRY(read_at(at_, sizeof(std::uint32_t))));
  at_ += sizeof(std::uint32_t);
  if (size > kMostRecord || size > end_ - at_) return incomplete("a wrong size");
  auto change = TRY(wire::decode<wire::FileChange>(TRY(read_at(at_, size))));
  at_ += size;
  if (change.after.kind == wire::FileKind::Regular) content_left_ = change.after.size;
  if (content_left_ > end_ - at_) return incomplete("a file is cut");
  return std::optional(std::move(change));
}

Result<std::string> ArchiveReader::read_content(std::size_t most) {
  const std::size_t size = std::min<std::uint64_t>({most, content_left_, kBufferBytes});
  std::string bytes = TRY(read_at(at_, size));
  at_ += size;
  content_left_ -= size;
  return bytes;
}

}  // namespace nutshell::saved
