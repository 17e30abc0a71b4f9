// Charges sessions with the CPU time that the backends of their sandboxes count, whoever started
// what used it, and ends what runs in a sandbox whose session has used its budget up. Thread-safe.
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
  struct Ground {
    Runtime& runtime;
    SandboxTable& table;
    Budgets& budgets;
  };
  explicit BudgetWatch(const Ground& ground) : ground_(ground) {}

  // Before something is admitted, after it ended, and before usage is shown. Costs a question to
  // the backend where the session has a budget, and nothing where it has none.
  void count(const std::string& tenant, const std::string& session, const std::string& sandbox);
  // All sessions of one backend; called by a clock.
  void look(const std::string& backend);

 private:
  void end_all(const Held& held);

  Ground ground_;
  // What a session had used when its sandbox was last emptied: while nothing runs there, it is not
  // done again.
  Guarded<std::map<std::string, std::chrono::microseconds>> emptied_;
};

}  // namespace nutshell::service
