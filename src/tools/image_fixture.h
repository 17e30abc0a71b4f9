// Small images for the tests.
#pragma once

#include <cstdint>
#include <string>

namespace nutshell {

// A PNG with this size in its header; its pixels are no image.
inline std::string png_of(std::uint32_t width, std::uint32_t height) {
  const auto number = [](std::uint32_t value) {
    std::string bytes;
    for (const unsigned shift : {24U, 16U, 8U, 0U})
      bytes += static_cast<char>(value >> shift & 0xFFU);
    return bytes;
  };
  const std::string checksum(4, 'c');
  return "\x89PNG\r\n\x1A\n" + number(13) + "IHDR" + number(width) + number(height) +
         std::string("\x08\x06\0\0\0", 5) + checksum + number(4) + "IDATdata" + checksum +
         number(0) + "IEND" + checksum;
}

}  // namespace nutshell
