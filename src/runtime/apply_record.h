// Remembers which files of a sandbox were applied to the host, in the user's runtime directory, as
// long as the sandbox may live.
#pragma once

#include <string>

#include "core/backend.h"
#include "runtime/output_store.h"
#include "runtime/workspace_apply.h"

namespace nutshell {

// In place of a path: when a sandbox began whose changes this one goes on with. No path is empty.
inline constexpr const char* kBeganKey = "";

class ApplyRecord {
 public:
  explicit ApplyRecord(std::string sandbox_id) : sandbox_id_(std::move(sandbox_id)) {}

  [[nodiscard]] Result<AppliedTimes> read() const;
  [[nodiscard]] Result<> add(const AppliedTimes& applied) const;
  // Removes the record, if there is one.
  [[nodiscard]] Result<> remove() const;

 private:
  std::string sandbox_id_;
};

// Removes the records of sandboxes that are gone. Calls `may_live` after listing the records, so
// that a sandbox that starts meanwhile loses nothing.
void sweep_apply_records(const MayLive& may_live, SweepMode mode, SweepReport& report);

}  // namespace nutshell
