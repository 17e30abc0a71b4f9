// The version of a file: a hash of its bytes, for noticing that the file has changed. It need not
// withstand attacks: a process that can write the file needs no collision.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace nutshell::init {

// Takes bytes as they come; the split does not matter.
class ContentHash {
 public:
  void add(std::string_view bytes);
  // 16 hexadecimal digits.
  [[nodiscard]] std::string full_version() const;

 private:
  static constexpr std::size_t kBlock = 64;
  void mix(const char* block);

  std::array<std::uint64_t, 4> lanes_{0x243F6A8885A308D3ULL, 0x13198A2E03707344ULL,
                                      0xA4093822299F31D0ULL, 0x082EFA98EC4E6C89ULL};
  std::array<char, kBlock> waiting_{};
  std::size_t waiting_bytes_ = 0;
  std::uint64_t total_ = 0;
};

std::string full_version(std::string_view bytes);

// The short form, which replies show and callers send back.
inline std::string short_version(std::string_view full) {
  return std::string(full.substr(0, 6));
}

// Counts lines as an editor does: a last line without a newline counts, too.
std::uint64_t count_newlines(std::string_view bytes);
inline std::uint64_t count_lines(std::string_view bytes) {
  return count_newlines(bytes) + (bytes.empty() || bytes.back() == '\n' ? 0 : 1);
}

}  // namespace nutshell::init
