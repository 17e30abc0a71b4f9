#include "init/files/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace nutshell::init {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::array<std::uint64_t, 4> kFactors{0x9E3779B97F4A7C15ULL, 0xD1B54A32D192ED03ULL,
                                                0x8CB92BA72F3D8DD7ULL, 0xAEF17502108EF2D9ULL};

std::uint64_t fold(std::uint64_t left, std::uint64_t right) {
  const Wide product = static_cast<Wide>(left) * right;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

std::uint64_t turn(std::uint64_t word) {
  return (word << 29U) | (word >> 35U);
}

}  // namespace

void ContentHash::mix(const char* block) {
  std::array<std::uint64_t, 8> words;
  std::memcpy(words.data(), block, kBlock);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i] = fold(lanes_[i] ^ words[2 * i], kFactors[i]) ^ turn(lanes_[i] + words[2 * i + 1]);
  }
}

void ContentHash::add(std::string_view bytes) {
  total_ += bytes.size();
  if (waiting_bytes_ > 0) {
    const std::size_t taken = std::min(bytes.size(), kBlock - waiting_bytes_);
    std::memcpy(waiting_.data() + waiting_bytes_, bytes.data(), taken);
    waiting_bytes_ += taken;
    bytes.remove_prefix(taken);
    if (waiting_bytes_ < kBlock) return;
    mix(waiting_.data());
    waiting_bytes_ = 0;
  }
  for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock))
    mix(bytes.data());
  if (!bytes.empty()) std::memcpy(waiting_.data(), bytes.data(), bytes.size());
  waiting_bytes_ = bytes.size();
}

std::string ContentHash::full_version() const {
  ContentHash last = *this;
  std::fill(last.waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_bytes_),
            last.waiting_.end(), '\0');
  last.mix(last.waiting_.data());
  std::uint64_t hash = total_ * kFactors[0];
  for (std::size_t i = 0; i < last.lanes_.size(); ++i)
    hash = fold(hash ^ last.lanes_[i], kFactors[i]) ^ turn(hash);
  return fmt::format("{:016x}", hash);
}

std::string full_version(std::string_view bytes) {
  ContentHash hash;
  hash.add(bytes);
  return hash.full_version();
}

std::uint64_t count_newlines(std::string_view bytes) {
  constexpr std::uint64_t kNewlines = 0x0A0A0A0A0A0A0A0AULL;
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kLowBits = 0x7F7F7F7F7F7F7F7FULL;
  std::uint64_t count = 0;
  for (std::uint64_t word = 0; bytes.size() >= sizeof word; bytes.remove_prefix(sizeof word)) {
    std::memcpy(&word, bytes.data(), sizeof word);
    word ^= kNewlines;  // a newline is a zero byte now
    const std::uint64_t others = ((word & kLowBits) + kLowBits) | word | kLowBits;
    count += ((~others >> 7U) * kOnes) >> 56U;  // all of them, summed up in the highest byte
  }
  return count + static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
}

}  // namespace nutshell::init
