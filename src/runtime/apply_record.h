// What was applied from a sandbox to the host, kept beside the launcher's socket as long as the
// sandbox may live.
#pragma once

#include <string>

#include "runtime/workspace_apply.h"

namespace nutshell {

class ApplyRecord {
 public:
  explicit ApplyRecord(std::string sandbox_id) : sandbox_id_(std::move(sandbox_id)) {}

  [[nodiscard]] Result<AppliedTimes> read() const;
  [[nodiscard]] Result<> add(const AppliedTimes& applied) const;

 private:
  std::string sandbox_id_;
};

}  // namespace nutshell
