// Replaces texts in a stream of bytes, also where a text is split between two parts. Holds back
// only bytes that may be the beginning of such a text. Not thread-safe.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nutshell::egress {

using Replacement =
    std::pair<std::string, std::string>;  // a text that is not empty, and the new one

class StreamReplacer {
 public:
  enum class Case { Exact, Any };  // of ASCII letters

  explicit StreamReplacer(std::vector<Replacement> replacements, Case letter_case = Case::Exact);

  // The bytes that can be passed on by now.
  std::string take(std::string_view bytes) { return scan(bytes, Part::WithMoreToCome); }
  // The rest, at the end of the stream.
  std::string end() { return scan({}, Part::Last); }
  [[nodiscard]] bool has_replaced() const { return has_replaced_; }

 private:
  enum class Part { WithMoreToCome, Last };
  std::string scan(std::string_view bytes, Part part);

  std::vector<Replacement> replacements_;  // in small letters, if their case does not matter
  Case case_;
  std::array<bool, 256> is_first_{};  // whether a text begins with this byte
  std::string held_;
  bool has_replaced_ = false;
};

// As above, for a whole text.
std::string replaced(std::string_view text, const std::vector<Replacement>& replacements,
                     StreamReplacer::Case letter_case = StreamReplacer::Case::Exact);

}  // namespace nutshell::egress
