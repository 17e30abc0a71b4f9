#include "init/search/line_window.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace nutshell::init::search {
namespace {

constexpr std::size_t kFirstRoom = 256U << 10U;  // stays in the cache of a core

}  // namespace

void LineWindow::start(int fd, Size size) {
  fd_ = fd;
  size_ = size;
  filled_ = 0;
  block_end_ = 0;
  is_at_end_ = false;
  constexpr std::size_t kMostIdle = 1U << 20U;
  if (room_ >= kFirstRoom && room_ <= kMostIdle) return;
  bytes_.reset(new char[kFirstRoom]);
  room_ = kFirstRoom;
}

void LineWindow::grow() {
  const std::size_t room = std::min(room_ * 2, most());
  std::unique_ptr<char[]> larger(new char[room]);
  std::memcpy(larger.get(), bytes_.get(), filled_);
  bytes_ = std::move(larger);
  room_ = room;
}

void LineWindow::read_more() {
  ssize_t count = 0;
  do {
    count = ::read(fd_, bytes_.get() + filled_, room_ - filled_);
  } while (count < 0 && errno == EINTR);
  is_at_end_ = count <= 0;  // an error counts as the end
  if (count > 0) filled_ += static_cast<std::size_t>(count);
}

LineWindow::Block LineWindow::next(std::size_t kept) {
  kept = std::min(kept, block_end_);
  filled_ -= block_end_ - kept;
  std::memmove(bytes_.get(), bytes_.get() + block_end_ - kept, filled_);
  // Fills the whole window: fewer calls, and the end of a short file is seen at once.
  while (!is_at_end_) {
    if (filled_ < room_) {
      read_more();
      continue;
    }
    const bool has_line = std::memchr(bytes_.get() + kept, '\n', filled_ - kept) != nullptr;
    if (size_ == Size::Lines && has_line) break;
    if (room_ >= most()) break;
    grow();
  }
  const char* newline = is_at_end_ || size_ == Size::WholeFile
                            ? nullptr
                            : static_cast<const char*>(::memrchr(bytes_.get(), '\n', filled_));
  const std::size_t whole =
      newline == nullptr ? filled_ : static_cast<std::size_t>(newline - bytes_.get()) + 1;
  block_end_ = whole > kept ? whole : filled_;
  if (block_end_ == kept) return {{}, 0, false, true};
  const bool is_cut = !is_at_end_ && bytes_[block_end_ - 1] != '\n';
  return {{bytes_.get(), block_end_}, kept, is_cut, is_at_end_};
}

void LineWindow::skip_line() {
  for (;;) {
    const std::size_t left = filled_ - block_end_;
    const void* newline = std::memchr(bytes_.get() + block_end_, '\n', left);
    if (newline != nullptr) {
      block_end_ = static_cast<std::size_t>(static_cast<const char*>(newline) - bytes_.get()) + 1;
      return;
    }
    filled_ = block_end_ = 0;
    if (is_at_end_) return;
    read_more();
  }
}

}  // namespace nutshell::init::search
