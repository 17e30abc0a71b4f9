// What every message of the stateless revision carries: its revision, and who its client is.
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
// As it stands there; empty: it does not.
[[nodiscard]] std::string named_revision(const Message& message);
std::variant<RequestMeta, Problem> read_meta(const Message& message);

}  // namespace nutshell::mcp
