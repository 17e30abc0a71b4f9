// Reads how the API server refuses a request: a Status object, or some other body.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::kubernetes {

struct ApiRefusal {
  int status = 0;      // of HTTP
  std::string reason;  // Kubernetes' word: "NotFound", "AlreadyExists"; empty without a Status
  std::string message;
  std::optional<std::chrono::seconds> retry_after;
};
ApiRefusal read_refusal(int status, std::string_view body, std::string_view retry_after);
// The same from the Status itself: an event of a watch, or the end of an exec.
ApiRefusal read_status(const nlohmann::json& status);

Error error_of(const ApiRefusal& refusal);

// Whether the same request may succeed a little later.
bool is_passing(int status);

}  // namespace nutshell::kubernetes
