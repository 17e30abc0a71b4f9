// The labels of a container, from which any later client learns about its sandbox. They lack the
// environment, which may hold secrets: everybody who may use the engine can read labels.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "backends/docker/notes/container_name.h"
#include "base/result.h"
#include "core/backend.h"

namespace nutshell::docker {

inline constexpr const char* kIdLabel = "nutshell.id";
inline constexpr const char* kScopeLabel = "nutshell.scope";  // the user they belong to
inline constexpr const char* kInitLabel = "nutshell.init";    // on volumes that hold nutshell-init

using Labels = std::map<std::string, std::string>;

struct Remembered {
  std::string id;
  std::string scope;
  SandboxSpec spec;                        // without its environment
  std::chrono::milliseconds expires_at{};  // since 1970
};

Labels to_labels(const Remembered& remembered);
// NotFound for a container that is not ours. Anybody can put labels on a container.
Result<Remembered> from_labels(const Labels& labels);

// Identifies the runtime directory of this user on this machine.
Result<std::string> scope_of_this_user();

// The path of a container in the engine's API; `rest` follows it.
std::string container_path(const std::string& id, std::string_view rest);

}  // namespace nutshell::docker
