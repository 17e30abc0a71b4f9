#include "compaction/parsers/json_parser.h"

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kLineBytes = 400;  // a new line begins at the next comma

// Copies JSON without the blanks between its parts. Knows just enough of the grammar to see that
// brackets match and strings end; what is not JSON then is refused.
class JsonSqueezer {
 public:
  bool add(std::string_view line) {
    for (const char character : line) {
      if (!add_character(character)) return false;
    }
    return !in_string_;  // a string does not go on to the next line
  }

  [[nodiscard]] bool is_whole() const { return open_.empty() && !in_string_ && has_value_; }
  std::vector<std::string> take_lines() && {
    if (!line_.empty()) lines_.push_back(std::move(line_));
    return std::move(lines_);
  }

 private:
  bool add_character(char character) {
    if (in_string_) {
      line_ += character;
      if (is_escaped_) {
        is_escaped_ = false;
      } else if (character == '\\') {
        is_escaped_ = true;
      } else if (character == '"') {
        in_string_ = false;
      }
      return true;
    }
    if (character == ' ' || character == '\t') return true;
    if (open_.empty() && has_value_) {  // one value behind the other: JSON lines
      if (character != '{' && character != '[') return false;
      end_line();
    }
    line_ += character;
    has_value_ = true;
    if (character == '"') in_string_ = true;
    if (character == '{' || character == '[') open_ += character;
    if (character == '}' || character == ']') return close(character);
    if (character == ',' && line_.size() > kLineBytes) end_line();
    return std::string_view("{[\",:-+.").find(character) != std::string_view::npos ||
           is_digit(character) || (character >= 'a' && character <= 'z') || character == 'E';
  }

  bool close(char character) {
    if (open_.empty() || (open_.back() == '{') != (character == '}')) return false;
    open_.pop_back();
    return true;
  }

  void end_line() {
    lines_.push_back(std::move(line_));
    line_.clear();
  }

  std::string open_;
  std::string line_;
  std::vector<std::string> lines_;
  bool in_string_ = false;
  bool is_escaped_ = false;
  bool has_value_ = false;
};

bool recognises_json(const ParserInput& input) {
  for (const auto line : input.lines) {
    const auto text = trim(line);
    if (text.empty()) continue;
    return text.front() == '{' || text.front() == '[';
  }
  return false;
}

std::optional<Facts> parse_json(const ParserInput& input) {
  JsonSqueezer squeezer;
  for (const auto line : input.lines) {
    if (!squeezer.add(line)) return std::nullopt;
  }
  if (!squeezer.is_whole()) return std::nullopt;
  Facts facts;
  facts.is_data = true;
  facts.tool = "json";
  facts.kept = std::move(squeezer).take_lines();
  return facts;
}

}  // namespace

Parser json_parser() {
  return {"json", recognises_json, parse_json};
}

}  // namespace nutshell::compaction
