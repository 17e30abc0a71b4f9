// Finds the positions of members in JSON with comments and trailing commas.
#include "cli/mcp_config.h"

namespace nutshell::cli {
namespace {

constexpr std::size_t kMostNesting = 256;

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool is_at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  [[nodiscard]] std::size_t position() const { return at_; }

  void skip_space() {
    while (at_ < text_.size()) {
      if (text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_).starts_with("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else if (std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else {
        return;
      }
    }
  }
  bool take(char c) {
    if (!is_at(c)) return false;
    ++at_;
    skip_space();
    return true;
  }
  // Reads a string and returns the bytes between its quotes, escapes included.
  std::optional<std::string_view> take_string() {
    if (!is_at('"')) return std::nullopt;
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"')
      at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return std::nullopt;
    const auto inside = text_.substr(begin, at_ - begin);
    ++at_;
    return inside;
  }
  // Skips a whole value.
  bool skip_value() {
    if (is_at('"')) return take_string().has_value();
    std::size_t depth = 0;
    const std::size_t begin = at_;
    while (at_ < text_.size() && depth < kMostNesting) {
      const char c = text_[at_];
      if (c == '"') {
        if (!take_string()) return false;
        continue;
      }
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("//") || rest.starts_with("/*")) {
        if (depth == 0) break;
        skip_space();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      const bool is_close = c == '}' || c == ']';
      if (depth == 0 &&
          (is_close || std::string_view(", \t\r\n").find(c) != std::string_view::npos))
        break;
      ++at_;
      if (is_close && --depth == 0) break;
    }
    return at_ > begin && depth == 0;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// Looks in the object whose opening brace was just read.
std::optional<JsonPlace> find_in_object(Scanner& scanner, std::string_view name) {
  while (!scanner.is_at('}')) {
    JsonPlace place;
    place.key = scanner.position();
    const auto key = scanner.take_string();
    if (!key) return std::nullopt;
    scanner.skip_space();
    if (!scanner.take(':')) return std::nullopt;
    place.value = scanner.position();
    if (*key == name) return place;
    if (!scanner.skip_value()) return std::nullopt;
    scanner.skip_space();
    if (!scanner.take(',') && !scanner.is_at('}')) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<JsonPlace> find_json_member(std::string_view text,
                                          const std::vector<std::string_view>& path) {
  Scanner scanner(text);
  scanner.skip_space();
  std::optional<JsonPlace> place;
  for (const std::string_view name : path) {
    if (!scanner.take('{')) return std::nullopt;
    place = find_in_object(scanner, name);
    if (!place) return std::nullopt;
  }
  if (place) {
    if (!scanner.skip_value()) return std::nullopt;
    place->end = scanner.position();
  }
  return place;
}

}  // namespace nutshell::cli
