// Shows a tenant its own part of the audit record. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "audit/record.h"
#include "service/evidence/operations.h"
#include "service/model/exec_view.h"
#include "service/sandboxes/sandbox_table.h"

namespace nutshell::service {

class Evidence {
 public:
  Evidence(Operations& operations, SandboxTable& table) : operations_(operations), table_(table) {}

  Result<std::vector<audit::Record>> records(const Caller& caller, const audit::Filter& filter);
  // Execs and tool calls of a sandbox. Reads the record, so a sandbox that has ended has a history
  // as far back as the record goes.
  Result<std::vector<HistoryEntry>> history(const Caller& caller, const std::string& id);

 private:
  Operations& operations_;
  SandboxTable& table_;
};

}  // namespace nutshell::service
