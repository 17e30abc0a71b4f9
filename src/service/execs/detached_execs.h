// The commands that run without their callers. They go on when the daemon dies, and the next daemon
// follows them again. Thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "service/execs/detached_exec.h"
#include "service/execs/execs.h"
#include "service/state/idempotency.h"

namespace nutshell::service {

class DetachedExecs {
 public:
  struct Dependencies {
    std::filesystem::path directory;
    Database& database;
    Runtime& runtime;
    SandboxTable& table;
    Execs& execs;
    Budgets& budgets;
    BudgetWatch& watch;
    Operations& operations;
    Idempotency& idempotency;
    Accounts& accounts;
    const CurrentRules& rules;
  };
  explicit DetachedExecs(Dependencies uses) : uses_(std::move(uses)) {}
  DetachedExecs(const DetachedExecs&) = delete;
  DetachedExecs& operator=(const DetachedExecs&) = delete;
  ~DetachedExecs();  // the commands run on

  Result<ExecState> start(const Caller& caller, const SandboxRef& ref, ExecRequest request,
                          const std::string& key);
  // Waits for the end of the one exec that the key of `options` stands for: starts it, joins it
  // while it runs, or gives its result again. A caller that hangs up leaves it running, because the
  // key says that the caller will ask again.
  Result<ExecReply> run_once(const Caller& caller, const SandboxRef& ref,
                             const ExecRequest& request, const ExecOptions& options,
                             wire::ExecIo& io);
  // Finds execs of sandboxes that have ended, too.
  Result<std::shared_ptr<DetachedExec>> find(const std::string& tenant, const std::string& sandbox,
                                             const std::string& exec_id);
  // At the start: follows the execs that run, and remembers those that ended.
  Result<> adopt();
  void forget_old();
  // Removes the output of a sandbox's execs. Their endings are remembered for a while.
  void drop_outputs(const std::string& sandbox);

 private:
  struct Running {
    std::shared_ptr<DetachedExec> exec;
    Charge place;
    std::jthread runner;
  };
  using NoteKey = std::function<Result<>(const std::string& exec_id)>;
  using Execution = std::function<Result<ExecResult>(wire::InitClient&, DetachedExec&)>;
  struct Job {
    Operation operation;
    SandboxRef ref;
    Budgets::Reservation reservation;
    Execution execution;
  };
  Result<ExecState> start_admitted(const SandboxRef& ref, ExecRequest request, Charge place,
                                   const NoteKey& note_key, Operation& operation);
  void run(const std::shared_ptr<DetachedExec>& exec, Job& job);
  Result<ExecResult> execute(DetachedExec& exec, const Job& job);
  void finish(DetachedExec& exec, Job& job, const Result<ExecResult>& result);
  Result<> adopt_row(const Row& row);
  void launch(std::shared_ptr<DetachedExec> exec, Charge place, Job job);
  DetachedExec::Spool spool_of(const std::string& tenant);
  Result<Charge> take_place(const std::string& tenant);
  // Forgets the tenant's exec that ended first; false if none has ended.
  bool forget_oldest(const std::string& tenant);
  void remove(const std::string& exec_id);
  void sweep_files();

  Dependencies uses_;
  Guarded<std::map<std::string, Running>> execs_;
};

}  // namespace nutshell::service
