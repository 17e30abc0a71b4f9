#include "tools/shell_words.h"

namespace nutshell {
namespace {

constexpr std::string_view kBlanks = " \t\n\r";
constexpr std::string_view kEscapedInQuotes = "$`\"\\\n";

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> run() {
    while (!text_.empty()) {
      const char c = take();
      if (kBlanks.find(c) != std::string_view::npos) {
        end_word();
        continue;
      }
      is_in_word_ = true;
      if (c == '\'') {
        TRY(take_single_quoted());
      } else if (c == '"') {
        TRY(take_double_quoted());
      } else if (c != '\\') {
        word_ += c;
      } else if (text_.empty()) {
        return failure(ErrorCode::InvalidArgument, "a backslash stands at the end");
      } else if (const char next = take(); next != '\n') {
        word_ += next;
      }
    }
    end_word();
    return std::move(words_);
  }

 private:
  char take() {
    const char c = text_.front();
    text_.remove_prefix(1);
    return c;
  }
  void end_word() {
    if (is_in_word_) words_.push_back(std::move(word_));
    word_.clear();
    is_in_word_ = false;
  }
  Result<> take_single_quoted() {
    const std::size_t end = text_.find('\'');
    if (end == std::string_view::npos)
      return failure(ErrorCode::InvalidArgument, "a ' is not closed");
    word_ += text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return {};
  }
  Result<> take_double_quoted() {
    while (!text_.empty()) {
      const char c = take();
      if (c == '"') return {};
      const bool is_escape = c == '\\' && !text_.empty() &&
                             kEscapedInQuotes.find(text_.front()) != std::string_view::npos;
      if (!is_escape) {
        word_ += c;
      } else if (const char next = take(); next != '\n') {
        word_ += next;
      }
    }
    return failure(ErrorCode::InvalidArgument, "a \" is not closed");
  }

  std::string_view text_;
  std::vector<std::string> words_;
  std::string word_;
  bool is_in_word_ = false;
};

bool is_plain(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_^~";
  return !word.empty() && word.find_first_not_of(kPlain) == std::string::npos && word[0] != '~';
}

}  // namespace

Result<std::vector<std::string>> split_shell_words(std::string_view text) {
  return Splitter(text).run();
}

std::string join_shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (is_plain(word)) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word)
      text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace nutshell
