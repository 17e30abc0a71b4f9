// What a container is told to remember about its sandbox, so that any later client finds it: its
// labels. The environment is not among them: it may hold secrets, and anybody may inspect.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/result.h"
#include "core/backend.h"

namespace nutshell::docker {

inline constexpr const char* kIdLabel = "nutshell.id";
inline constexpr const char* kScopeLabel = "nutshell.scope";  // whose sandboxes these are
inline constexpr const char* kInitLabel = "nutshell.init";    // on volumes with our program

using Labels = std::map<std::string, std::string>;

struct Remembered {
  std::string id;
  std::string scope;
  SandboxSpec spec;                        // without its environment
  std::chrono::milliseconds expires_at{};  // since 1970
};

Labels to_labels(const Remembered& remembered);
// Labels are what somebody wrote on a container: NotFound where it is none of ours.
Result<Remembered> from_labels(const Labels& labels);

// One for each runtime directory of each user of each machine.
Result<std::string> scope_of_this_user();

inline std::string container_name(const std::string& id) {
  return "nutshell-" + id;
}

std::chrono::milliseconds milliseconds_now();

}  // namespace nutshell::docker
