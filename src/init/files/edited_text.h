// Exact replacement in a text: every edit finds its old text, once unless told otherwise, or no
// edit is made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "init/files/attempt.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

class EditedText {
 public:
  // `original` must outlive this: it is copied only if it is changed.
  explicit EditedText(std::string_view original) : text_(original) {}
  EditedText(const EditedText&) = delete;
  EditedText& operator=(const EditedText&) = delete;

  // Sees the text that the edit before left. `old_text` with plain newlines also finds lines that
  // end in CR LF, and the newlines of `new_text` become the line ends of the place.
  Attempt<> apply(const wire::Edit& edit, std::string_view shown);

  [[nodiscard]] std::string_view text() const { return text_; }
  std::string take_text() { return std::move(edited_); }
  struct Places {
    std::vector<wire::LineRange> lines;  // where new text is now, at most kMostPlaces of them
    std::uint64_t total_lines = 0;       // of the whole text
  };
  [[nodiscard]] Places places() const;
  static constexpr std::size_t kMostPlaces = 4096;

 private:
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  [[nodiscard]] Attempt<std::vector<Span>> find_all(const wire::Edit& edit,
                                                    std::string_view shown) const;
  void replace(const std::vector<Span>& matches, const wire::Edit& edit);
  void move_places(std::size_t begin, std::size_t end, std::size_t new_size);

  std::string_view text_;  // the original, or edited_
  std::string edited_;
  std::vector<Span> places_;
};

}  // namespace nutshell::init
