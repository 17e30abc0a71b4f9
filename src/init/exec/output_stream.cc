#include "init/exec/output_stream.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace nutshell::init {
namespace {

constexpr std::size_t kMetaBytes =
    1 + 8 + 4;  // stream, offset, count: wire::Output before its bytes
constexpr std::size_t kFrameOverhead = wire::kHeaderBytes + kMetaBytes;
constexpr int kLargePipe = 1 << 20;
constexpr std::size_t kMostAtOnce = 1U << 20U;  // from one command before the next one's turn

std::string make_frame(wire::Stream stream, std::uint64_t offset, std::string_view bytes) {
  std::string frame;
  frame.reserve(kFrameOverhead + bytes.size());
  wire::append_header(frame, 0, wire::MessageType::Output, kMetaBytes + bytes.size());
  const auto size = static_cast<std::uint32_t>(bytes.size());
  frame += static_cast<char>(stream);
  frame.append(reinterpret_cast<const char*>(&offset), sizeof offset);
  frame.append(reinterpret_cast<const char*>(&size), sizeof size);
  frame += bytes;
  return frame;
}

}  // namespace

OutputStream::OutputStream(wire::Stream stream, UniqueFd pipe, std::uint32_t window,
                           WhenFull when_full)
    : stream_(stream), pipe_(std::move(pipe)), window_(window), when_full_(when_full) {}

std::size_t OutputStream::room() const {
  if (is_discarding_ || drops_oldest()) return wire::kMostData;
  return std::min<std::size_t>(wire::kMostData,
                               window_ - std::min<std::uint64_t>(window_, kept_ - consumed_));
}

int OutputStream::descriptor() const {
  return room() > 0 ? pipe_.get() : -1;
}

void OutputStream::read_available(std::uint64_t& allowance) {
  std::array<char, wire::kMostData> chunk;  // not cleared: only what read() filled is used
  const std::uint64_t enough = written_ + kMostAtOnce;
  while (descriptor() >= 0 && written_ < enough) {
    const std::size_t wanted = room();
    const ssize_t count = ::read(pipe_.get(), chunk.data(), wanted);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return pipe_.reset();  // the end, or EIO: nobody holds the terminal any more
    const auto size = static_cast<std::size_t>(count);
    if (is_discarding_) return;
    written_ += size;
    const auto taken = std::min<std::uint64_t>(size, allowance);
    allowance -= taken;
    if (taken > 0) keep(chunk.data(), taken);
    if (taken < size) return;  // over the limit: the caller ends the exec
    if (size == chunk.size()) grow_pipe();
    if (size < wanted) return;  // drained; a second read would only say EAGAIN
  }
}

void OutputStream::note_end() {
  int waiting = 0;
  if (pipe_ && ::ioctl(pipe_.get(), FIONREAD, &waiting) != 0) waiting = 0;
  end_ = written_ + static_cast<std::uint64_t>(waiting);
}

void OutputStream::grow_pipe() {
  if (has_large_pipe_) return;
  has_large_pipe_ = true;
  (void)::fcntl(pipe_.get(), F_SETPIPE_SZ, kLargePipe);  // only speed: 64 KiB work as well
}

void OutputStream::keep(const char* data, std::size_t size) {
  blocks_.push_back({kept_, make_frame(stream_, kept_, {data, size})});
  kept_ += size;
  if (drops_oldest()) drop_oldest();
}

void OutputStream::drop_oldest() {
  while (kept_ - consumed_ > kMostUnread && !blocks_.empty()) {
    const Block& first = blocks_.front();
    consumed_ = first.offset + (first.frame.size() - kFrameOverhead);
    blocks_.pop_front();
    if (next_ > 0) --next_;
  }
}

void OutputStream::consume(std::uint64_t offset) {
  consumed_ = std::clamp(offset, consumed_, kept_);
  while (next_ > 0 && !blocks_.empty()) {
    const Block& first = blocks_.front();
    if (first.offset + (first.frame.size() - kFrameOverhead) > consumed_) return;
    blocks_.pop_front();
    --next_;
  }
}

void OutputStream::rewind(std::uint64_t offset) {
  if (!can_rewind(offset)) return;
  offset = std::max(offset, consumed_);
  next_ = blocks_.size();  // bytes before `offset` are forgotten, sent or not
  consume(offset);
  next_ = 0;
  if (blocks_.empty() || blocks_.front().offset >= offset) return;
  Block& first = blocks_.front();
  const std::size_t skip = offset - first.offset;
  first = {offset, make_frame(stream_, offset,
                              std::string_view(first.frame).substr(kFrameOverhead + skip))};
}

std::string_view OutputStream::unsent_frame(std::uint32_t conversation) {
  std::string& frame = blocks_[next_].frame;
  frame.replace(4, sizeof conversation, reinterpret_cast<const char*>(&conversation),
                sizeof conversation);
  return frame;
}

}  // namespace nutshell::init
