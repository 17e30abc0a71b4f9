#include "runtime/git_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/line_diff.h"

namespace nutshell {
namespace {

using Kind = PatchSide::Kind;

constexpr std::string_view kNoBlob = "0000000000000000000000000000000000000000";

class Sha1 {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) {
      block_[length_++ % block_.size()] = static_cast<std::uint8_t>(c);
      if (length_ % block_.size() == 0) mix();
    }
  }
  std::string finish() {
    const std::uint64_t bits = length_ * 8;
    add(std::string_view("\x80", 1));
    while (length_ % block_.size() != 56)
      add(std::string_view("\0", 1));
    for (int shift = 56; shift >= 0; shift -= 8) {
      const char byte = static_cast<char>(bits >> static_cast<unsigned>(shift));
      add(std::string_view(&byte, 1));
    }
    std::string text;
    for (const std::uint32_t word : state_)
      text += fmt::format("{:08x}", word);
    return text;
  }

 private:
  void mix() {
    std::array<std::uint32_t, 80> words{};
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t byte = 0; byte < 4; ++byte)
        words[i] = words[i] << 8U | block_[i * 4 + byte];
    }
    for (std::size_t i = 16; i < 80; ++i)
      words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    auto [a, b, c, d, e] = state_;
    for (std::size_t i = 0; i < 80; ++i) {
      const std::uint32_t step = std::rotl(a, 5) + choose(i, b, c, d) + e + words[i];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = step;
    }
    const std::array<std::uint32_t, 5> sum{a, b, c, d, e};
    for (std::size_t i = 0; i < sum.size(); ++i)
      state_[i] += sum[i];
  }
  static std::uint32_t choose(std::size_t round, std::uint32_t b, std::uint32_t c,
                              std::uint32_t d) {
    if (round < 20) return ((b & c) | (~b & d)) + 0x5A827999U;
    if (round < 40) return (b ^ c ^ d) + 0x6ED9EBA1U;
    if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDCU;
    return (b ^ c ^ d) + 0xCA62C1D6U;
  }

  std::array<std::uint32_t, 5> state_{0x67452301U, 0xEFCDAB89U, 0x98BADCFEU, 0x10325476U,
                                      0xC3D2E1F0U};
  std::array<std::uint8_t, 64> block_{};
  std::uint64_t length_ = 0;
};

std::string_view mode_of(Kind kind) {
  if (kind == Kind::Link) return "120000";
  return kind == Kind::Executable ? "100755" : "100644";
}

// Quotes a path as git does.
std::string quoted(const std::string& path) {
  std::string text;
  bool is_plain = true;
  for (const char c : path) {
    const auto code = static_cast<unsigned char>(c);
    const bool is_escaped = c == '"' || c == '\\';
    const bool is_odd = code < 0x20 || code >= 0x7f;
    is_plain = is_plain && !is_escaped && !is_odd;
    if (is_odd) {
      text += fmt::format("\\{:03o}", code);
    } else {
      text += (is_escaped ? "\\" : "") + std::string(1, c);
    }
  }
  return is_plain ? path : "\"" + text + "\"";
}

std::uint32_t adler32(std::string_view bytes) {
  constexpr std::uint32_t kModulus = 65521;
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (const char c : bytes) {
    low = (low + static_cast<unsigned char>(c)) % kModulus;
    high = (high + low) % kModulus;
  }
  return high << 16U | low;
}

// Makes a zlib stream of stored blocks: git accepts it, and no library is needed.
std::string stored_stream(std::string_view bytes) {
  constexpr std::size_t kMostInBlock = 65535;
  std::string stream = "\x78\x01";
  do {
    const std::string_view part = bytes.substr(0, kMostInBlock);
    const auto size = static_cast<std::uint16_t>(part.size());
    const auto inverse = static_cast<std::uint16_t>(~size);
    stream += part.size() == bytes.size() ? '\x01' : '\x00';
    for (const std::uint16_t number : {size, inverse}) {
      stream += static_cast<char>(number & 0xffU);
      stream += static_cast<char>(number >> 8U);
    }
    stream += part;
    bytes.remove_prefix(part.size());
  } while (!bytes.empty());
  return stream;
}

std::string with_checksum(std::string stream, std::uint32_t sum) {
  for (int shift = 24; shift >= 0; shift -= 8)
    stream += static_cast<char>(sum >> static_cast<unsigned>(shift));
  return stream;
}

// Encodes in git's base 85: lines of at most 52 bytes, each with its length in front.
std::string base85_lines(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
  std::string text;
  while (!bytes.empty()) {
    std::string line(bytes.substr(0, 52));
    bytes.remove_prefix(line.size());
    text += static_cast<char>(line.size() <= 26 ? 'A' + line.size() - 1 : 'a' + line.size() - 27);
    line.resize((line.size() + 3) / 4 * 4);
    for (std::size_t at = 0; at < line.size(); at += 4) {
      std::uint32_t number = 0;
      for (std::size_t i = 0; i < 4; ++i)
        number = number << 8U | static_cast<unsigned char>(line[at + i]);
      std::array<char, 5> digits{};
      for (std::size_t i = 5; i-- > 0; number /= 85)
        digits[i] = kDigits[number % 85];
      text.append(digits.data(), digits.size());
    }
    text += '\n';
  }
  return text;
}

std::string literal(std::string_view content) {
  return fmt::format("literal {}\n{}\n", content.size(),
                     base85_lines(with_checksum(stored_stream(content), adler32(content))));
}

std::string binary_part(const std::string& path, const PatchSide& before, const PatchSide& after,
                        BinaryForm form) {
  if (form == BinaryForm::Named) {
    return fmt::format("Binary file {} is different ({} bytes, was {})\n", quoted(path),
                       after.content.size(), before.content.size());
  }
  return "GIT binary patch\n" + literal(after.content) + literal(before.content);
}

std::string header(const std::string& path, const PatchSide& before, const PatchSide& after) {
  std::string text = fmt::format("diff --git {} {}\n", quoted("a/" + path), quoted("b/" + path));
  if (before.kind == Kind::Nothing) {
    text += fmt::format("new file mode {}\n", mode_of(after.kind));
  } else if (after.kind == Kind::Nothing) {
    text += fmt::format("deleted file mode {}\n", mode_of(before.kind));
  } else if (before.kind != after.kind) {
    text += fmt::format("old mode {}\nnew mode {}\n", mode_of(before.kind), mode_of(after.kind));
  }
  return text;
}

std::string blob_or_none(const PatchSide& side) {
  return side.kind == Kind::Nothing ? std::string(kNoBlob) : git_blob_name(side.content);
}

}  // namespace

bool is_binary(std::string_view content) {
  return content.substr(0, 8000).find('\0') != std::string_view::npos;
}

std::string git_blob_name(std::string_view content) {
  Sha1 hash;
  hash.add(fmt::format("blob {}", content.size()));
  hash.add(std::string_view("\0", 1));
  hash.add(content);
  return hash.finish();
}

std::string git_patch(const std::string& path, const PatchSide& before, const PatchSide& after,
                      BinaryForm form) {
  if (before.kind == after.kind && before.content == after.content) return {};
  const bool both = before.kind != Kind::Nothing && after.kind != Kind::Nothing;
  // Git shows a link that becomes a file as a removal and an addition.
  if (both && (before.kind == Kind::Link) != (after.kind == Kind::Link)) {
    return git_patch(path, before, {}, form) + git_patch(path, {}, after, form);
  }
  std::string text = header(path, before, after);
  // Git needs this line to apply a binary change; for an empty file it is the only line.
  text += fmt::format("index {}..{}", blob_or_none(before), blob_or_none(after));
  text += before.kind == after.kind ? fmt::format(" {}\n", mode_of(after.kind)) : "\n";
  if (before.content == after.content) return text;
  if (is_binary(before.content) || is_binary(after.content))
    return text + binary_part(path, before, after, form);
  DiffOptions options;
  options.old_name = before.kind == Kind::Nothing ? "/dev/null" : quoted("a/" + path);
  options.new_name = after.kind == Kind::Nothing ? "/dev/null" : quoted("b/" + path);
  return text + unified_diff(before.content, after.content, options);
}

}  // namespace nutshell
