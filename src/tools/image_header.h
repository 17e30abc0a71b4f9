// Reads the header of an image file without decoding its pixels, and says whether the APIs of
// models accept the file. The bytes are hostile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nutshell {

// Limits of the APIs of models: Anthropic documents 8000 pixels a side, 5 MiB of base64 and the
// four types; the limits of OpenAI and Gemini are larger.
inline constexpr std::uint32_t kMostImagePixels = 8000;
inline constexpr std::uint64_t kMostImageBase64 = 5ULL << 20U;
inline constexpr std::uint64_t kMostImageBytes = kMostImageBase64 / 4 * 3;

struct ImageHeader {
  std::string name;          // "PNG", "BMP"; empty: not a known image
  std::string media_type;    // "image/png"; empty: no API accepts this type
  std::uint32_t width = 0;   // 0: not known
  std::uint32_t height = 0;  // 0: not known
  std::string_view fault{};  // why the file is not whole; empty: it is, as far as it was read
};

// `bytes` is the whole file, or the beginning of one that is too large for the APIs.
ImageHeader read_image_header(std::string_view bytes);

// Says why the APIs refuse this image; empty if they accept it.
std::string why_refused(const ImageHeader& header, std::uint64_t file_bytes);

}  // namespace nutshell
