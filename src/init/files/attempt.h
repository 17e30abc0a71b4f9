// The result of a step of a tool: a value, or a refusal that a model reads.
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
// Turns a system error about `path` into a refusal.
Refusal refuse(const Error& error, std::string_view path);

// Replaces every character that does not print, so that a name cannot forge lines.
std::string printable(std::string_view text);

// Refuses paths that cannot be worked on.
Attempt<> check_path(std::string_view path);

}  // namespace nutshell::init
