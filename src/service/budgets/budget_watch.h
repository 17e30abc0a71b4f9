// Charges sessions with the CPU time that backends count for their sandboxes, whatever process used
// it, and ends all processes of a sandbox whose session has used up its budget. Thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/guarded.h"
#include "runtime/runtime.h"
#include "service/budgets/budgets.h"
#include "service/sandboxes/sandbox_table.h"

namespace nutshell::service {

class BudgetWatch {
 public:
  struct Dependencies {
    Runtime& runtime;
    SandboxTable& table;
    Budgets& budgets;
  };
  explicit BudgetWatch(const Dependencies& uses) : uses_(uses) {}

  // Called before an exec is admitted, after it ended, and before usage is shown. Asks the backend
  // only if the session has a budget.
  void count(const std::string& tenant, const std::string& session, const std::string& sandbox);
  // Counts for all sessions with sandboxes of one backend; called at each tick.
  void look(const std::string& backend);

 private:
  void end_all(const SandboxEntry& entry);

  Dependencies uses_;
  // CPU time that a session had used when the processes of its sandbox were last ended. While the
  // time does not grow, nothing runs there, and there is nothing to end.
  Guarded<std::map<std::string, std::chrono::microseconds>> emptied_;
};

}  // namespace nutshell::service
