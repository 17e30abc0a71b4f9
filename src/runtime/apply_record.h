// What was applied from a sandbox to the host, kept beside the launcher's socket as long as the
// sandbox may live.
#pragma once

#include <string>

#include "core/backend.h"
#include "runtime/output_store.h"
#include "runtime/workspace_apply.h"

namespace nutshell {

class ApplyRecord {
 public:
  explicit ApplyRecord(std::string sandbox_id) : sandbox_id_(std::move(sandbox_id)) {}

  [[nodiscard]] Result<AppliedTimes> read() const;
  [[nodiscard]] Result<> add(const AppliedTimes& applied) const;
  // None is there afterwards, nor was one needed.
  [[nodiscard]] Result<> remove() const;

 private:
  std::string sandbox_id_;
};

// Records of sandboxes that are gone. Who lives is asked after the records were listed: a sandbox
// that begins meanwhile loses nothing.
void sweep_apply_records(const MayLive& may_live, SweepMode mode, SweepReport& report);

}  // namespace nutshell
