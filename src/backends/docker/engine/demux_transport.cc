#include "backends/docker/engine/demux_transport.h"

#include <algorithm>
#include <cstring>

namespace nutshell::docker {
namespace {

constexpr unsigned char kStandardError = 2;  // the highest number; input is 0, output 1

std::uint32_t big_endian(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i)
    value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

Result<> DemuxTransport::take_head() {
  const auto stream = static_cast<unsigned char>(held_[0]);
  const bool is_sound = stream <= kStandardError && held_[1] == 0 && held_[2] == 0 && held_[3] == 0;
  if (!is_sound) return failure(ErrorCode::Corrupt, "the engine's stream has a malformed header");
  is_error_ = stream == kStandardError;
  left_ = big_endian(held_.data() + 4);
  held_.erase(0, kHeadBytes);
  return {};
}

Result<std::size_t> DemuxTransport::take(char* space, std::size_t size) {
  for (;;) {
    if (left_ == 0) {
      if (held_.size() < kHeadBytes) return 0;
      TRY(take_head());
      continue;
    }
    std::size_t count = std::min<std::size_t>(left_, held_.size());
    if (count == 0) return 0;
    if (!is_error_) count = std::min(count, size);
    if (is_error_) {
      error_text_.append(held_, 0, std::min(count, kMostErrorBytes - error_text_.size()));
    } else {
      std::memcpy(space, held_.data(), count);
    }
    held_.erase(0, count);
    left_ -= static_cast<std::uint32_t>(count);
    if (!is_error_) return count;
  }
}

Result<http::Transport::Step> DemuxTransport::read_some(char* space, std::size_t size) {
  constexpr std::size_t kReadBytes = 64U << 10U;
  for (;;) {
    const std::size_t count = TRY(take(space, size));
    if (count > 0) return Step{Progress::Moved, count};
    const std::size_t before = held_.size();  // part of a header at most
    held_.resize(before + kReadBytes);
    auto step = inner_->read_some(held_.data() + before, kReadBytes);
    held_.resize(before + (step ? step->bytes : 0));
    if (!step) return Failure(std::move(step).error());
    if (step->progress != Progress::Moved) return Step{step->progress, 0};
  }
}

}  // namespace nutshell::docker
