// How much text a call may return: tokens always, and characters where the caller's channel cuts
// long results.
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
// Of a result as JSON; RoomKit replaces one of 20 000 characters by its beginning.
inline constexpr std::size_t kMostRoomKitCharacters = 19'600;

// The parameter that every tool with a long answer has.
Parameter max_tokens_parameter(std::int64_t by_default);

class TextBudget {
 public:
  TextBudget(const ToolContext& context, std::size_t max_tokens)
      : context_(context), max_tokens_(max_tokens) {}
  // As the caller asked, or else by default.
  TextBudget(const ToolContext& context, const Arguments& arguments, std::int64_t by_default);

  [[nodiscard]] std::size_t max_tokens() const { return max_tokens_; }
  // More bytes than this never fit.
  [[nodiscard]] std::size_t most_bytes() const;
  [[nodiscard]] bool fits(std::string_view text) const { return fits(text, count(text)); }

  // `compose(n)` is the text with the first n of its parts. Gives the text with the most parts
  // that fits; with none of them even where that alone is too long.
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

// Length as a JSON string, quotes not counted.
std::size_t json_length(std::string_view text);

}  // namespace nutshell
