#include "init/files/text_form.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "base/utf8_text.h"

namespace nutshell::init {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
constexpr char32_t kReplacement = 0xFFFD;

struct Magic {
  std::string_view bytes;
  std::size_t offset;
  std::string_view type;
};
// Binary formats, by first bytes that no text begins with.
constexpr std::array kMagics = {
    Magic{"\x89PNG\r\n\x1A\n"sv, 0, "image/png"},
    Magic{"\xFF\xD8\xFF"sv, 0, "image/jpeg"},
    Magic{"\x7F"
          "ELF"sv,
          0, "application/x-elf"},
    Magic{"%PDF-"sv, 0, "application/pdf"},
    Magic{"GIF87a"sv, 0, "image/gif"},
    Magic{"GIF89a"sv, 0, "image/gif"},
    Magic{"PK\x03\x04"sv, 0, "application/zip"},
    Magic{"PK\x05\x06"sv, 0, "application/zip"},
    Magic{"\x1F\x8B"sv, 0, "application/gzip"},
    Magic{"\x28\xB5\x2F\xFD"sv, 0, "application/zstd"},
    Magic{"\xFD"
          "7zXZ\0"sv,
          0, "application/x-xz"},
    Magic{"7z\xBC\xAF\x27\x1C"sv, 0, "application/x-7z-compressed"},
    Magic{"BZh91AY&SY"sv, 0, "application/x-bzip2"},
    Magic{"SQLite format 3\0"sv, 0, "application/vnd.sqlite3"},
    Magic{"\0asm"sv, 0, "application/wasm"},
    Magic{"\xCA\xFE\xBA\xBE"sv, 0, "application/java-vm"},
    Magic{"!<arch>\n"sv, 0, "application/x-archive"},
    Magic{"OggS\0"sv, 0, "audio/ogg"},
    Magic{"wOFF\0"sv, 0, "font/woff"},
    Magic{"wOF2\0"sv, 0, "font/woff2"},
};
// Used only if the bytes are not text, because text may begin with these letters.
constexpr std::array kWeakMagics = {
    Magic{"WEBP"sv, 8, "image/webp"},
    Magic{"WAVE"sv, 8, "audio/wav"},
    Magic{"AVI "sv, 8, "video/x-msvideo"},
    Magic{"ftypavif"sv, 4, "image/avif"},
    Magic{"ftypheic"sv, 4, "image/heic"},
    Magic{"ftypheix"sv, 4, "image/heic"},
    Magic{"ftypmif1"sv, 4, "image/heif"},
    Magic{"ftyp"sv, 4, "video/mp4"},
    Magic{"BM"sv, 0, "image/bmp"},
    Magic{"\0\0\1\0"sv, 0, "image/vnd.microsoft.icon"},
    Magic{"II*\0"sv, 0, "image/tiff"},
    Magic{"MM\0*"sv, 0, "image/tiff"},
    Magic{"ID3"sv, 0, "audio/mpeg"},
    Magic{"fLaC"sv, 0, "audio/flac"},
    Magic{"\x1A\x45\xDF\xA3"sv, 0, "video/webm"},
    Magic{"MZ"sv, 0, "application/vnd.microsoft.portable-executable"},
    Magic{"ustar"sv, 257, "application/x-tar"},
};

template <typename List>
std::string_view known_type(std::string_view bytes, const List& magics) {
  for (const Magic& magic : magics) {
    if (bytes.size() < magic.offset) continue;
    if (bytes.substr(magic.offset).starts_with(magic.bytes)) return magic.type;
  }
  return {};
}

// Old 8-bit text has letters beyond ASCII, tabs and line ends, but hardly a control character.
bool looks_like_letters(std::string_view bytes) {
  std::size_t controls = 0;
  for (const char letter : bytes) {
    const auto value = static_cast<unsigned char>(letter);
    const bool is_blank = value >= 8 && value <= 13;
    controls += (value < 0x20 && !is_blank && value != 0x1B) || value == 0x7F ? 1 : 0;
  }
  return controls * 50 <= bytes.size();
}

std::string utf16_to_utf8(std::string_view bytes, Encoding encoding) {
  const auto unit_at = [&](std::size_t i) -> char32_t {
    const auto first = static_cast<unsigned char>(bytes[i]);
    const auto second = static_cast<unsigned char>(bytes[i + 1]);
    return encoding == Encoding::Utf16Le ? static_cast<char32_t>(first | (second << 8U))
                                         : static_cast<char32_t>(second | (first << 8U));
  };
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t i = 2; i + 1 < bytes.size(); i += 2) {  // behind the mark
    char32_t letter = unit_at(i);
    const bool is_high = (letter & 0xFC00U) == 0xD800;
    const bool is_paired = is_high && i + 3 < bytes.size() && (unit_at(i + 2) & 0xFC00U) == 0xDC00;
    if (is_paired) {
      letter = 0x10000 + ((letter & 0x3FFU) << 10U) + (unit_at(i + 2) & 0x3FFU);
      i += 2;
    } else if ((letter & 0xF800U) == 0xD800) {
      letter = kReplacement;
    }
    append_utf8(text, letter);
  }
  if (bytes.size() % 2 != 0) append_utf8(text, kReplacement);
  return text;
}

std::string bytes_to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() + bytes.size() / 8);
  for (const char letter : bytes)
    append_utf8(text, static_cast<unsigned char>(letter));
  return text;
}

// Decodes one character of valid UTF-8.
char32_t take_letter(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const unsigned size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t letter = size == 1 ? first : first & (0x7FU >> size);
  for (unsigned i = 1; i < size; ++i)
    letter = (letter << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  text.remove_prefix(size);
  return letter;
}

std::string utf8_to_utf16(std::string_view text, Encoding encoding) {
  std::string bytes;
  bytes.reserve(2 * text.size() + 2);
  const auto put = [&](char32_t unit) {
    const auto low = static_cast<char>(unit & 0xFFU);
    const auto high = static_cast<char>((unit >> 8U) & 0xFFU);
    bytes += encoding == Encoding::Utf16Le ? low : high;
    bytes += encoding == Encoding::Utf16Le ? high : low;
  };
  put(0xFEFF);
  while (!text.empty()) {
    const char32_t letter = take_letter(text);
    if (letter < 0x10000) {
      put(letter);
    } else {
      put(0xD800 + ((letter - 0x10000) >> 10U));
      put(0xDC00 + ((letter - 0x10000) & 0x3FFU));
    }
  }
  return bytes;
}

Attempt<std::string> utf8_to_bytes(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    const char32_t letter = take_letter(text);
    if (letter > 0xFF) {
      return refuse(ErrorCode::InvalidArgument,
                    "The new text has a character that the file's encoding does not have.",
                    "The file is in some 8-bit encoding; each of its bytes is shown as one letter.",
                    "Convert the file to UTF-8 first.");
    }
    bytes += static_cast<char>(letter);
  }
  return bytes;
}

}  // namespace

std::string_view to_string(Encoding encoding) {
  switch (encoding) {
    case Encoding::Binary:
      return "";
    case Encoding::Utf8:
      return "utf-8";
    case Encoding::Utf8Bom:
      return "utf-8-bom";
    case Encoding::Utf16Le:
      return "utf-16le";
    case Encoding::Utf16Be:
      return "utf-16be";
    case Encoding::Unknown8Bit:
      return "unknown-8bit";
  }
  return "";
}

Encoding detect_encoding(std::string_view bytes) {
  using enum Encoding;
  const bool is_utf32 = bytes.starts_with("\xFF\xFE\0\0"sv);
  if (bytes.starts_with("\xFF\xFE") && !is_utf32) return Utf16Le;
  if (bytes.starts_with("\xFE\xFF")) return Utf16Be;
  if (!known_type(bytes, kMagics).empty()) return Binary;
  if (std::memchr(bytes.data(), 0, bytes.size()) != nullptr) return Binary;
  if (is_utf8(bytes)) return bytes.starts_with(kUtf8Mark) ? Utf8Bom : Utf8;
  return looks_like_letters(bytes) ? Unknown8Bit : Binary;
}

std::string media_type(std::string_view bytes, Encoding encoding) {
  if (encoding != Encoding::Binary) return "text/plain";
  std::string_view type = known_type(bytes, kMagics);
  if (type.empty()) type = known_type(bytes, kWeakMagics);
  return std::string(type.empty() ? "application/octet-stream" : type);
}

std::string to_utf8(std::string bytes, Encoding encoding) {
  switch (encoding) {
    case Encoding::Utf8Bom:
      return bytes.erase(0, kUtf8Mark.size());
    case Encoding::Utf16Le:
    case Encoding::Utf16Be:
      return utf16_to_utf8(bytes, encoding);
    case Encoding::Unknown8Bit:
      return bytes_to_utf8(bytes);
    default:
      return bytes;
  }
}

Attempt<std::string> from_utf8(std::string text, Encoding encoding) {
  switch (encoding) {
    case Encoding::Utf8Bom:
      return text.insert(0, kUtf8Mark);
    case Encoding::Utf16Le:
    case Encoding::Utf16Be:
      return utf8_to_utf16(text, encoding);
    case Encoding::Unknown8Bit:
      return utf8_to_bytes(text);
    default:
      return text;
  }
}

}  // namespace nutshell::init
