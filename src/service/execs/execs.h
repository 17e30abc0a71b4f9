// Execs and tool calls whose callers wait for the result. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/refusals.h"
#include "runtime/tool_runner.h"
#include "service/budgets/budget_watch.h"
#include "service/budgets/budgets.h"
#include "service/evidence/metrics.h"
#include "service/evidence/operations.h"
#include "service/model/exec_view.h"
#include "service/sandboxes/charged_changes.h"
#include "service/sandboxes/sandbox_operations.h"
#include "service/sandboxes/sandboxes.h"
#include "wire/tool_schema.h"

namespace nutshell::service {

class Execs {
 public:
  struct Dependencies {
    Runtime& runtime;
    SandboxTable& table;
    GoneList& gone;
    Sandboxes& sandboxes;
    Budgets& budgets;
    BudgetWatch& watch;
    Operations& operations;
    Accounts& accounts;
    const CurrentRules& rules;
  };
  explicit Execs(const Dependencies& uses) : uses_(uses) {}

  Result<ExecReply> run(const Caller& caller, const SandboxRef& ref, ExecRequest request,
                        const ExecOptions& options, wire::ExecIo& io);
  Result<ToolReply> call_tool(const Caller& caller, const SandboxRef& ref, const std::string& name,
                              const nlohmann::json& arguments, const ToolRunnerOptions& options);

  // Wakes the sandbox and reserves the exec's budget; narrows `limits` to what is left of it. A
  // refusal becomes the ending of the operation.
  Result<Budgets::Reservation> admit(const SandboxRef& ref, Operation& operation,
                                     ExecLimits& limits);
  // Replaces "lost" by the reason that the host knows, such as out of memory.
  ExecResult explain_loss(const SandboxRef& ref, ExecResult result);

 private:
  Result<ExecReply> run_admitted(const SandboxRef& ref, ExecRequest request,
                                 const ExecOptions& options, Operation& operation,
                                 wire::ExecIo& io);
  Result<ToolReply> call_admitted(const SandboxRef& ref, const Tool& tool,
                                  const nlohmann::json& arguments, const ToolRunnerOptions& options,
                                  Operation& operation);
  Result<ExecResult> exec(const SandboxRef& ref, const ExecRequest& request, wire::ExecIo& io);
  // Called when a call could not reach its sandbox. Forgets a sandbox that has ended at once, so
  // that the next caller gets "not found".
  void check_reached(const SandboxRef& ref, const Error& error);
  Result<Trace> trace_files(const SandboxRef& ref, const std::vector<wire::FileChange>& before);
  Result<ChargedChanges> changes_of(const SandboxRef& ref);
  void add_trace(const SandboxRef& ref, const ExecOptions& options, const Operation& operation,
                 ExecReply& reply);
  std::optional<Refusals> refusals_of(const SandboxRef& ref, TraceLevel level);

  Dependencies uses_;
};

// The limits that stopped the command, in words; empty if none did.
std::vector<std::string> blocked_by(const ExecResult& result);
// Adds what the kernel refused between `before` and `after` to all processes of the sandbox, not
// only to the command.
void add_refusals(const std::optional<Refusals>& before, const std::optional<Refusals>& after,
                  std::vector<std::string>& blocked);

}  // namespace nutshell::service
