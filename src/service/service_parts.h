// What a service is made of; only the service itself looks in here.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <thread>

#include "audit/chains.h"
#include "service/budgets/budget_watch.h"
#include "service/budgets/budgets.h"
#include "service/evidence/gone_list.h"
#include "service/evidence/metrics.h"
#include "service/evidence/operations.h"
#include "service/execs/detached_execs.h"
#include "service/execs/execs.h"
#include "service/pools/pools.h"
#include "service/sandboxes/sandboxes.h"
#include "service/service.h"
#include "service/sessions/sessions.h"
#include "service/state/idempotency.h"
#include "service/state/seal.h"
#include "service/state/state_directory.h"

namespace nutshell::service {

// In the order they are made; each uses what stands above it.
struct Service::Parts {
  Parts(ServiceOptions given, StateDirectory locked, const Seal& key,
        std::unique_ptr<Database> opened, std::unique_ptr<audit::Chains> written);

  void note_end(const Held& held, const std::string& why);
  void remember_why(const Held& held);
  void sweep();
  void tick(const std::stop_token& stop);
  void tend_backend(const std::string& backend, const std::stop_token& stop);
  Result<> start();
  // Work that is under way; refused once the service is being drained.
  class Work {
   public:
    explicit Work(Parts& parts) : parts_(&parts) {}
    Work(Work&& other) noexcept : parts_(std::exchange(other.parts_, nullptr)) {}
    Work& operator=(Work&&) = delete;
    ~Work();

   private:
    Parts* parts_;
  };
  Result<Work> begin_work();

  // Does `step` as an operation on a sandbox of the caller's; `told` is what the record has of its
  // arguments.
  struct Told {
    const char* name = "";
    std::string text = {};
  };
  template <typename Step>
  auto operate(const Caller& caller, const std::string& id, const char* action, const Told& told,
               Step step) -> std::invoke_result_t<Step, const Grip&, Operation&> {
    const Grip grip = TRY(table.find(caller.tenant, id));
    const bool has_told = *told.name != '\0';
    return operations.run(
        caller,
        {action, subject_of(grip),
         has_told ? operations.describe_text(told.name, told.text, grip.secrets) : std::string()},
        [&](Operation& operation) { return step(grip, operation); });
  }

  ServiceOptions options;
  StateDirectory directory;
  Seal seal;
  std::unique_ptr<Database> database;
  std::unique_ptr<audit::Chains> chains;
  Metrics metrics;
  Operations operations;
  Runtime runtime;
  CurrentRules rules;
  Accounts accounts;
  SandboxTable table;
  PulledImages images;
  Budgets budgets;
  BudgetWatch budget_watch;
  GoneList gone;
  Idempotency idempotency;
  Sandboxes sandboxes;
  Execs execs;
  KeptWorkspaces workspaces;
  Sessions sessions;
  std::atomic<Pools*> told_pools = nullptr;  // sandboxes end before there are pools
  Pools pools;
  DetachedExecs detached;
  std::mutex work_mutex;
  std::condition_variable work_done;
  std::uint32_t work = 0;
  bool is_draining = false;
  Clock::time_point next_record_try;  // once it could not be written
  NamedJobs keepers{kMostKeepers};    // behind all that they use
  std::vector<std::jthread> clocks;   // last: one for each backend, and one for the rest
};

}  // namespace nutshell::service
