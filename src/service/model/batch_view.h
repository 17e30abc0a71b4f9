// A batch: many commands at once, each in a sandbox of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/account.h"
#include "base/result.h"
#include "core/exec.h"
#include "core/sandbox_spec.h"

namespace nutshell::service {

struct BatchItem {
  ExecRequest request;
  std::vector<std::pair<std::string, std::string>>
      files;  // path inside and content, written before the command
};

struct BatchRequest {
  SandboxSpec spec;  // of each item's sandbox
  std::vector<BatchItem> items;
  std::size_t parallel = 4;
  std::uint64_t output_bytes = 1U << 20U;  // kept of each item and stream
  // Whether results are kept until all have ended, or dropped once `progress` was called for each.
  enum class Results : std::uint8_t { Kept, Dropped };
  Results results = Results::Kept;
  // Becomes readable when the client hangs up: items that run are cancelled, no other begins.
  int gone_descriptor = -1;
};

struct BatchResult {
  Result<ExecResult> result = failure(ErrorCode::Cancelled, "it was not begun");
  std::string output;
  std::string error;
  std::uint64_t audit_id = 0;
  Charge charge = {};  // for the memory of output and error
};

// Called when an item has ended, by one thread at a time. After an error no other item begins.
using BatchProgress = std::function<Result<>(std::size_t index, const BatchResult& result)>;

}  // namespace nutshell::service
