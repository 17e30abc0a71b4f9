// Execs and tool calls that somebody waits for. Thread-safe.
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
#include "service/sandboxes/sandboxes.h"
#include "wire/tool_schema.h"

namespace nutshell::service {

class Execs {
 public:
  struct Ground {
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
  explicit Execs(const Ground& ground) : ground_(ground) {}

  Result<ExecReply> run(const Caller& caller, const Grip& grip, ExecRequest request,
                        const ExecOptions& options, wire::ExecIo& io);
  Result<ToolReply> call_tool(const Caller& caller, const Grip& grip, const std::string& name,
                              const nlohmann::json& arguments, const ToolRunnerOptions& options);

  // What every use of a sandbox begins with, once it counts as used: one that was paused for
  // idleness goes on.
  Result<> wake(const Grip& grip);
  // Wakes the sandbox and takes the exec from the budget, whose rest bounds `limits`. A refusal is
  // how the operation ends.
  Result<Budgets::Reservation> admit(const Grip& grip, Operation& operation, ExecLimits& limits);
  // What the host knows of a lost sandbox is truer than "lost".
  ExecResult explain_loss(const Grip& grip, ExecResult result);

 private:
  Result<ExecReply> run_admitted(const Grip& grip, ExecRequest request, const ExecOptions& options,
                                 Operation& operation, wire::ExecIo& io);
  Result<ToolReply> call_admitted(const Grip& grip, const Tool& tool,
                                  const nlohmann::json& arguments, const ToolRunnerOptions& options,
                                  Operation& operation);
  Result<ExecResult> exec(const Grip& grip, const ExecRequest& request, wire::ExecIo& io);
  // After a call could not reach its sandbox: one that has ended is let go at once, so that the
  // next caller is not told that it is there.
  void check_reached(const Grip& grip, const Error& error);
  Result<Trace> trace_files(const Grip& grip, const std::vector<wire::FileChange>& before);
  Result<ChargedChanges> changes_of(const Grip& grip);
  void add_trace(const Grip& grip, const ExecOptions& options, const Operation& operation,
                 ExecReply& reply);
  std::optional<Refusals> refusals_of(const Grip& grip, TraceLevel level);

  Ground ground_;
};

Subject subject_of(const Grip& grip);

// What stopped the command, in words; empty where nothing did.
std::vector<std::string> blocked_by(const ExecResult& result);
// What was refused meanwhile to whatever runs in the sandbox, which may be more than the command.
void add_refusals(const std::optional<Refusals>& before, const std::optional<Refusals>& after,
                  std::vector<std::string>& blocked);

}  // namespace nutshell::service
