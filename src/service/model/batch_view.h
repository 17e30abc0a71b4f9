// Many commands at once, each in a sandbox of its own.
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
  std::vector<std::pair<std::string, std::string>> files;  // path inside, content: written before
};

struct BatchRequest {
  SandboxSpec spec;  // of each
  std::vector<BatchItem> items;
  std::size_t parallel = 4;
  std::uint64_t output_bytes = 1U << 20U;  // kept of each item and stream
  // Whether results are held until all have ended, or only until the progress was told of each.
  enum class Results : std::uint8_t { Kept, Told };
  Results results = Results::Kept;
  // Readable once nobody waits for the results: what runs is cancelled, nothing else begins.
  int gone_descriptor = -1;
};

struct BatchResult {
  Result<ExecResult> result = failure(ErrorCode::Cancelled, "it was not begun");
  std::string output;
  std::string error;
  std::uint64_t audit_id = 0;
  Charge charge = {};  // for the memory of both
};

// Called from one thread at a time, in the order of their ends. After an error nothing else begins.
using BatchProgress = std::function<Result<>(std::size_t index, const BatchResult& result)>;

}  // namespace nutshell::service
