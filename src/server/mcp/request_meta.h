// The `_meta` of messages of the stateless revision: the revision, and what the client can do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/mcp/host.h"

namespace nutshell::mcp {

inline constexpr std::string_view kRevisionKey = "io.modelcontextprotocol/protocolVersion";

struct RequestMeta {
  std::string revision;
  std::string capabilities;  // JSON object
  std::optional<LogLevel> log_level;
};

[[nodiscard]] bool names_revision(const Message& message);
// The revision that the message names; empty if it names none.
[[nodiscard]] std::string named_revision(const Message& message);
std::variant<RequestMeta, Problem> read_meta(const Message& message);

}  // namespace nutshell::mcp
