#include "tools/image_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nutshell {
namespace {

using namespace std::literals;

constexpr std::string_view kTruncated = "it ends before its image data is complete";
constexpr std::string_view kNoHeader = "it ends inside its header";
constexpr std::string_view kBadHeader = "its header is damaged";

// Reads numbers at any offset; a number beyond the end is 0.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint32_t big(std::size_t at, std::size_t size) const {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < size; ++i)
      number = number << 8U | byte(at + i);
    return number;
  }
  [[nodiscard]] std::uint32_t little(std::size_t at, std::size_t size) const {
    std::uint32_t number = 0;
    for (std::size_t i = size; i > 0; --i)
      number = number << 8U | byte(at + i - 1);
    return number;
  }
  [[nodiscard]] bool has(std::size_t at, std::string_view word) const {
    return at < bytes_.size() && bytes_.substr(at).starts_with(word);
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::string_view view() const { return bytes_; }

 private:
  [[nodiscard]] std::uint32_t byte(std::size_t at) const {
    return at < bytes_.size() ? static_cast<unsigned char>(bytes_[at]) : 0U;
  }
  std::string_view bytes_;
};

// A chunk is its length, its name, its data and a checksum.
void read_png(const Bytes& bytes, ImageHeader& header) {
  constexpr std::size_t kFirstChunk = 8;
  constexpr std::size_t kAroundData = 12;
  constexpr std::size_t kHeaderEnd = kFirstChunk + kAroundData + 13;
  if (bytes.size() < kHeaderEnd) {
    header.fault = kNoHeader;
    return;
  }
  if (bytes.big(kFirstChunk, 4) != 13 || !bytes.has(kFirstChunk + 4, "IHDR")) {
    header.fault = kBadHeader;
    return;
  }
  header.width = bytes.big(16, 4);
  header.height = bytes.big(20, 4);
  bool has_data = false;
  for (std::size_t at = kHeaderEnd; at + kAroundData <= bytes.size();) {
    if (bytes.has(at + 4, "IEND")) {
      if (!has_data) header.fault = kTruncated;
      return;
    }
    has_data = has_data || bytes.has(at + 4, "IDAT");
    at += kAroundData + bytes.big(at, 4);
  }
  header.fault = kTruncated;
}

// A segment is 0xFF, its kind and, for most kinds, a length that counts itself.
void read_jpeg(const Bytes& bytes, ImageHeader& header) {
  constexpr std::uint32_t kStartOfScan = 0xDA;
  std::size_t at = 2;
  while (at + 4 <= bytes.size()) {
    if (bytes.big(at, 1) != 0xFF) {
      header.fault = kBadHeader;
      return;
    }
    const std::uint32_t kind = bytes.big(at + 1, 1);
    if (kind == 0xFF) {  // padding
      ++at;
      continue;
    }
    const bool stands_alone = kind == 0x01 || (kind >= 0xD0 && kind <= 0xD8);
    const bool is_frame = kind >= 0xC0 && kind <= 0xCF && kind != 0xC4 && kind != 0xC8 &&
                          kind != 0xCC;  // those are tables
    if (is_frame && at + 9 <= bytes.size()) {
      header.height = bytes.big(at + 5, 2);
      header.width = bytes.big(at + 7, 2);
    }
    if (kind == kStartOfScan) {
      const bool has_end = bytes.view().substr(at).find("\xFF\xD9"sv) != std::string_view::npos;
      if (header.width == 0) {
        header.fault = kBadHeader;
      } else if (!has_end) {
        header.fault = kTruncated;
      }
      return;
    }
    at += stands_alone ? 2 : 2 + std::max<std::size_t>(2, bytes.big(at + 2, 2));
  }
  header.fault = header.width == 0 ? kNoHeader : kTruncated;
}

void read_gif(const Bytes& bytes, ImageHeader& header) {
  constexpr std::size_t kHeaderEnd = 13;
  if (bytes.size() < kHeaderEnd) {
    header.fault = kNoHeader;
    return;
  }
  header.width = bytes.little(6, 2);
  header.height = bytes.little(8, 2);
  if (bytes.size() == kHeaderEnd || !bytes.view().ends_with(';')) header.fault = kTruncated;
}

void read_webp(const Bytes& bytes, ImageHeader& header) {
  constexpr std::size_t kHeaderEnd = 30;
  if (bytes.size() < kHeaderEnd) {
    header.fault = kNoHeader;
    return;
  }
  if (bytes.has(12, "VP8 ")) {
    header.width = bytes.little(26, 2) & 0x3FFFU;
    header.height = bytes.little(28, 2) & 0x3FFFU;
    if (!bytes.has(23, "\x9D\x01\x2A")) header.fault = kBadHeader;
  } else if (bytes.has(12, "VP8L")) {
    const std::uint32_t packed = bytes.little(21, 4);
    header.width = (packed & 0x3FFFU) + 1;
    header.height = (packed >> 14U & 0x3FFFU) + 1;
    if (!bytes.has(20, "\x2F")) header.fault = kBadHeader;
  } else if (bytes.has(12, "VP8X")) {
    header.width = bytes.little(24, 3) + 1;
    header.height = bytes.little(27, 3) + 1;
  } else {
    header.fault = kBadHeader;
  }
  if (header.fault.empty() && std::uint64_t{bytes.little(4, 4)} + 8 > bytes.size())
    header.fault = kTruncated;
}

void read_bmp(const Bytes& bytes, ImageHeader& header) {
  const std::uint32_t height = bytes.little(22, 4);
  header.width = bytes.little(18, 4);
  header.height = height > 0x7FFFFFFFU ? 0U - height : height;  // negative: from top to bottom
}

void read_icon(const Bytes& bytes, ImageHeader& header) {
  constexpr std::uint32_t kZeroMeans = 256;
  if (bytes.size() < 8) return;
  header.width = bytes.big(6, 1) == 0 ? kZeroMeans : bytes.big(6, 1);
  header.height = bytes.big(7, 1) == 0 ? kZeroMeans : bytes.big(7, 1);
}

// The first directory lists entries of 12 bytes; 256 and 257 are width and height.
void read_tiff(const Bytes& bytes, ImageHeader& header) {
  const bool is_little = bytes.has(0, "II");
  const auto number = [&](std::size_t at, std::size_t size) {
    return is_little ? bytes.little(at, size) : bytes.big(at, size);
  };
  const std::size_t directory = number(4, 4);
  const std::size_t entries = std::min<std::size_t>(number(directory, 2), 64);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = directory + 2 + i * 12;
    const std::uint32_t value = number(at + 2, 2) == 3 ? number(at + 8, 2) : number(at + 8, 4);
    if (number(at, 2) == 256) header.width = value;
    if (number(at, 2) == 257) header.height = value;
  }
}

struct ImageForm {
  std::string_view magic;
  std::size_t offset;
  const char* name;
  const char* media_type;  // empty: refused by the APIs
  void (*read)(const Bytes&, ImageHeader&);
};

constexpr std::array kFormats = {
    ImageForm{"\x89PNG\r\n\x1A\n"sv, 0, "PNG", "image/png", read_png},
    ImageForm{"\xFF\xD8\xFF"sv, 0, "JPEG", "image/jpeg", read_jpeg},
    ImageForm{"GIF87a"sv, 0, "GIF", "image/gif", read_gif},
    ImageForm{"GIF89a"sv, 0, "GIF", "image/gif", read_gif},
    ImageForm{"WEBPVP8"sv, 8, "WebP", "image/webp", read_webp},
    ImageForm{"ftypheic"sv, 4, "HEIC", "", nullptr},
    ImageForm{"ftypheix"sv, 4, "HEIC", "", nullptr},
    ImageForm{"ftypmif1"sv, 4, "HEIF", "", nullptr},
    ImageForm{"ftypavif"sv, 4, "AVIF", "", nullptr},
    ImageForm{"BM"sv, 0, "BMP", "", read_bmp},
    ImageForm{"\0\0\1\0"sv, 0, "ICO", "", read_icon},
    ImageForm{"II*\0"sv, 0, "TIFF", "", read_tiff},
    ImageForm{"MM\0*"sv, 0, "TIFF", "", read_tiff},
};

}  // namespace

ImageHeader read_image_header(std::string_view bytes) {
  const Bytes reader(bytes);
  for (const ImageForm& format : kFormats) {
    if (!reader.has(format.offset, format.magic)) continue;
    ImageHeader header{format.name, format.media_type, 0, 0, {}};
    if (format.read != nullptr) format.read(reader, header);
    const bool has_sides = header.width > 0 && header.height > 0;
    if (header.fault.empty() && !header.media_type.empty() && !has_sides) header.fault = kBadHeader;
    return header;
  }
  return {};
}

std::string why_refused(const ImageHeader& header, std::uint64_t file_bytes) {
  if (header.name.empty()) return "It is not an image that is known here.";
  if (header.media_type.empty())
    return fmt::format("Models read PNG, JPEG, GIF and WebP, not {}.", header.name);
  if (std::max(header.width, header.height) > kMostImagePixels)
    return fmt::format("Models read images of at most {0} × {0} pixels.", kMostImagePixels);
  if (file_bytes > kMostImageBytes)
    return fmt::format("Models read images of at most 5 MiB as base64, which is {} bytes of file.",
                       kMostImageBytes);
  if (!header.fault.empty())
    return fmt::format("The file is no whole {}: {}.", header.name, header.fault);
  return {};
}

}  // namespace nutshell
