// Sandboxes as a caller of the service sees them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/sandbox_spec.h"

namespace nutshell::service {

using SandboxView = SandboxStatus;

struct CreateRequest {
  SandboxSpec spec;
  // The same key gives the same sandbox, also after a restart; with another spec it is refused.
  // Empty for none.
  std::string idempotency_key;
  bool ends_with_service = false;  // if the service dies, the next one ends the sandbox
};

struct ListRequest {
  std::map<std::string, std::string> labels;  // a sandbox must have all of them
  std::string cursor;                         // of the page before; empty for the first page
  std::size_t most = 100;                     // 1 to 1000
  bool has_protections = false;  // left out by default: they are the larger part of a list
};

struct SandboxPage {
  std::vector<SandboxView> sandboxes;  // ordered by id
  std::string next_cursor;             // empty on the last page
};

}  // namespace nutshell::service
