// How much text a call may return: always a number of tokens, and for RoomKit, which cuts long
// results, also a number of characters.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "tools/arguments.h"
#include "tools/tool_context.h"

namespace nutshell {

inline constexpr std::int64_t kMostTokens = 20'000;
inline constexpr std::int64_t kLeastTokens = 200;
// The bound of a result as JSON: RoomKit cuts results of 20 000 characters.
inline constexpr std::size_t kMostRoomKitCharacters = 19'600;

// The parameter that every tool with a long answer has.
Parameter max_tokens_parameter(std::int64_t by_default);

class TextBudget {
 public:
  TextBudget(const ToolContext& context, std::size_t max_tokens)
      : context_(context), max_tokens_(max_tokens) {}
  // Takes `max_tokens` of the arguments, or else the default.
  TextBudget(const ToolContext& context, const Arguments& arguments, std::int64_t by_default);

  [[nodiscard]] std::size_t max_tokens() const { return max_tokens_; }
  // More bytes than this never fit.
  [[nodiscard]] std::size_t most_bytes() const;
  [[nodiscard]] bool fits(std::string_view text) const { return fits(text, count(text)); }

  // `compose(n)` returns the text with the first n parts. fit() returns the longest text that fits;
  // the text without parts even if that does not fit.
  struct Fitted {
    std::string text;
    std::size_t parts = 0;
    std::size_t tokens = 0;  // of the text
  };
  using Compose = std::function<std::string(std::size_t parts)>;
  [[nodiscard]] Fitted fit(std::size_t parts, const Compose& compose) const;

 private:
  [[nodiscard]] std::size_t count(std::string_view text) const {
    return context_.tokens.count(text);
  }
  [[nodiscard]] bool fits(std::string_view text, std::size_t tokens) const;

  const ToolContext& context_;
  std::size_t max_tokens_;
};

// The length of `text` as a JSON string, without quotes.
std::size_t json_length(std::string_view text);

}  // namespace nutshell
