// A sandbox as its callers see it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/protection.h"
#include "core/sandbox_spec.h"
#include "core/workspace_volume.h"

namespace nutshell {

enum class SandboxState : std::uint8_t { Running, Paused };
template <>
inline constexpr std::array<std::string_view, 2> kWords<SandboxState>{"running", "paused"};

// Returns nullopt if the sandbox has no workspace of the host.
inline std::optional<std::string> workspace_kind(const std::string& workspace,
                                                 const std::string& why_copied) {
  if (workspace.empty()) return std::nullopt;
  if (is_volume(workspace)) return "volume";
  return why_copied.empty() ? "overlay" : "copy";
}

// Backends fill in what they know; the daemon fills in session, pool, idle and audit_id.
struct SandboxStatus {
  std::string id;
  SandboxSpec spec;  // without its environment, which may hold secrets
  SandboxState state = SandboxState::Running;
  std::chrono::milliseconds age{0};
  std::chrono::milliseconds time_left{0};
  Protections protections;
  std::string why_copied;
  std::optional<std::chrono::milliseconds> idle;
  std::string session;
  std::string pool;
  std::uint64_t audit_id = 0;
  std::chrono::system_clock::time_point created;

  static constexpr NounInfo kNoun{"Sandbox", "A sandbox that was made, with its spec.",
                                  Direction::Given};
  static void describe(auto&& field, auto& status) {
    field({.number = 31, .name = "id", .presence = Presence::Required}, status.id);
    field({.number = 32, .name = "state", .help = "a paused sandbox uses no CPU"}, status.state);
    describe_embedded(field, status.spec);  // 1 to 16
    field({.number = 33, .name = "age_ms", .help = "how long ago it was made"}, status.age);
    field({.number = 34,
           .name = "ttl_left_ms",
           .help = "how long it will live; stands still while it is paused"},
          status.time_left);
    field({.number = 35, .name = "idle_ms", .help = "how long ago it was used"}, status.idle);
    field({.number = 36,
           .name = "why_copied",
           .help = "why /workspace is a copy of the directory and no overlay; empty: it is no copy",
           .presence = Presence::IfSet},
          status.why_copied);
    auto kind = workspace_kind(status.spec.workspace, status.why_copied);
    field({.number = 42,
           .name = "workspace_kind",
           .help = "what /workspace is: layers over the directory (overlay), a copy of it, or a "
                   "volume of the engine's"},
          kind);
    field({.number = 37,
           .name = "session",
           .help = "the session it belongs to",
           .presence = Presence::IfSet},
          status.session);
    field({.number = 38,
           .name = "pool",
           .help = "the pool it comes from",
           .presence = Presence::IfSet},
          status.pool);
    field({.number = 39,
           .name = "protections",
           .help = "what protects the host from it",
           .presence = Presence::IfSet},
          status.protections);
    field({.number = 40,
           .name = "audit_id",
           .help = "the record of the call that gave it to the caller",
           .presence = Presence::IfSet},
          status.audit_id);
    field({.number = 41,
           .name = "created_ms",
           .help = "when it was made, in milliseconds since 1970",
           .presence = Presence::IfSet},
          status.created);
  }
};

}  // namespace nutshell
