#include "tools/text_budget.h"

#include <algorithm>
#include <utility>

namespace nutshell {
namespace {

// An upper bound for text that tools return. Only runs of blanks have longer tokens; a page of them
// is cut too early, and the next call gets the rest.
constexpr std::size_t kMostBytesPerToken = 10;

}  // namespace

Parameter max_tokens_parameter(std::int64_t by_default) {
  Parameter parameter{"max_tokens", Parameter::Type::Integer, Parameter::Presence::Optional};
  parameter.least = kLeastTokens;
  parameter.most = kMostTokens;
  parameter.by_default = std::to_string(by_default);
  return parameter;
}

TextBudget::TextBudget(const ToolContext& context, const Arguments& arguments,
                       std::int64_t by_default)
    : TextBudget(context,
                 static_cast<std::size_t>(std::clamp(arguments.integer("max_tokens", by_default),
                                                     kLeastTokens, kMostTokens))) {}

std::size_t TextBudget::most_bytes() const {
  const std::size_t bytes = max_tokens_ * kMostBytesPerToken;
  return context_.dialect == Dialect::RoomKit ? std::min(bytes, kMostRoomKitCharacters) : bytes;
}

bool TextBudget::fits(std::string_view text, std::size_t tokens) const {
  if (context_.dialect == Dialect::RoomKit && json_length(text) > kMostRoomKitCharacters)
    return false;
  return tokens <= max_tokens_;
}

TextBudget::Fitted TextBudget::fit(std::size_t parts, const Compose& compose) const {
  std::string whole = compose(parts);
  const std::size_t tokens = count(whole);
  if (parts == 0 || fits(whole, tokens)) return {std::move(whole), parts, tokens};
  std::size_t fitting = 0;
  std::size_t too_many = parts;
  while (fitting + 1 < too_many) {
    const std::size_t middle = fitting + (too_many - fitting) / 2;
    (fits(compose(middle)) ? fitting : too_many) = middle;
  }
  whole = compose(fitting);
  const std::size_t left = count(whole);
  return {std::move(whole), fitting, left};
}

std::size_t json_length(std::string_view text) {
  std::size_t length = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_short = c == '"' || c == '\\' || (byte >= 0x08 && byte <= 0x0d && byte != 0x0b);
    length += is_short ? 2 : byte < 0x20 ? 6 : 1;
  }
  return length;
}

}  // namespace nutshell
