#include "base/toml_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace nutshell {
namespace {

// Returns the position behind the string that begins here; a string without an end takes the rest.
std::size_t end_of_text(std::string_view all, std::size_t begin) {
  const char quote = all[begin];
  const std::string_view triple = all.substr(begin, 3);
  const bool has_lines = triple == std::string(3, quote);
  const std::string closing(has_lines ? 3 : 1, quote);
  for (std::size_t at = begin + closing.size(); at < all.size(); ++at) {
    if (all[at] == '\\' && quote == '"') {
      ++at;
    } else if (all[at] == '\n' && !has_lines) {
      return at;
    } else if (all.substr(at, closing.size()) == closing) {
      return at + closing.size();
    }
  }
  return all.size();
}

}  // namespace

Result<> check_toml_text(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_text(text, at);
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      const auto line =
          1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("{}: outside of quotes only plain letters are allowed", line));
    } else {
      ++at;
    }
  }
  return {};
}

}  // namespace nutshell
