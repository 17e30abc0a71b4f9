// What a tool's step returns: a value, or the refusal a model reads.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "base/result.h"
#include "base/utf8.h"
#include "wire/tool_schema.h"

namespace nutshell::init {

using Refusal = tl::unexpected<wire::Refused>;

// A class of its own, as Result is: tl::expected may be dropped without a warning.
template <typename T = void>
class [[nodiscard]] Attempt : public tl::expected<T, wire::Refused> {
 public:
  using tl::expected<T, wire::Refused>::expected;
};

Refusal refuse(ErrorCode code, std::string what, std::string why = {}, std::string next = {});
// What the system said while `path` was worked on.
Refusal refuse(const Error& error, std::string_view path);

// The text with every character that does not print replaced, so that a name cannot forge lines.
std::string printable(std::string_view text);

// Empty: `path` can be worked on.
Attempt<> check_path(std::string_view path);

}  // namespace nutshell::init
