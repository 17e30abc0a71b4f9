#include "service/service.h"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <thread>

#include "audit/chains.h"
#include "base/fault_point.h"
#include "base/random_id.h"
#include "core/json_form.h"
#include "core/workspace_volume.h"
#include "runtime/network.h"
#include "runtime/workspace.h"
#include "service/budgets/budget_watch.h"
#include "service/budgets/budgets.h"
#include "service/evidence.h"
#include "service/evidence/gone_list.h"
#include "service/evidence/metrics.h"
#include "service/evidence/operations.h"
#include "service/execs/detached_execs.h"
#include "service/execs/execs.h"
#include "service/execs/init_streams.h"
#include "service/health.h"
#include "service/pools/pools.h"
#include "service/sandboxes/reconciler.h"
#include "service/sandboxes/sandbox_files.h"
#include "service/sandboxes/sandbox_network.h"
#include "service/sandboxes/sandbox_operations.h"
#include "service/sandboxes/sandboxes.h"
#include "service/sessions/sessions.h"
#include "service/state/idempotency.h"
#include "service/state/seal.h"
#include "service/state/sqlite_database.h"
#include "service/state/state_directory.h"
#include "service/tenants/allowed.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kReconcile = 2s;
constexpr auto kForget = 30s;

}  // namespace

// The parts in the order in which they are made; each uses only those above it.
struct Service::Parts {
  Parts(ServiceOptions given, StateDirectory locked, const Seal& key,
        std::unique_ptr<Database> opened, std::unique_ptr<audit::Chains> written);

  void note_end(const SandboxEntry& entry, const std::string& why);
  void remember_why(const SandboxEntry& entry);
  void sweep();
  void tick(const std::stop_token& stop);
  void tend_backend(const std::string& backend, const std::stop_token& stop);
  Result<> start();

  ServiceOptions options;
  StateDirectory directory;
  Seal seal;
  std::unique_ptr<Database> database;
  std::unique_ptr<audit::Chains> chains;
  WorkGate gate;
  Metrics metrics;
  Operations operations;
  Runtime runtime;
  CurrentRules rules;
  Accounts accounts;
  SandboxTable table;
  SandboxOperations sandbox_operations;
  PulledImages images;
  Budgets budgets;
  BudgetWatch budget_watch;
  GoneList gone;
  Idempotency idempotency;
  Sandboxes sandboxes;
  Reconciler reconciler;
  SandboxFiles files;
  SandboxNetwork network;
  Execs execs;
  InitStreams streams;
  KeptWorkspaces workspaces;
  Sessions sessions;
  std::atomic<InitStreams*> made_streams = nullptr;  // as made_pools
  std::atomic<Pools*> made_pools = nullptr;  // null while sandboxes end before there are pools
  Pools pools;
  DetachedExecs detached;
  Evidence evidence;
  Health health;
  NamedJobs session_jobs{kMostSessionJobs};  // below everything that the jobs use
  std::vector<std::jthread> clocks;          // last: one for each backend, and one for the rest
};

Service::Parts::Parts(ServiceOptions given, StateDirectory locked, const Seal& key,
                      std::unique_ptr<Database> opened, std::unique_ptr<audit::Chains> written)
    : options(std::move(given)),
      directory(std::move(locked)),
      seal(key),
      database(std::move(opened)),
      chains(std::move(written)),
      operations(*chains, metrics, options.audit.secret_names),
      runtime(options.backends),
      rules(options.rules),
      accounts(rules),
      table(accounts),
      sandbox_operations(table, operations),
      images(*database, accounts, rules),
      budgets(*database),
      budget_watch({runtime, table, budgets}),
      idempotency(*database,
                  [this](const std::string& tenant) { return rules.most(tenant, Resource::Keys); }),
      sandboxes(
          {runtime, *database, table, accounts, images, gone, options, rules},
          [this](const SandboxEntry& entry, const std::string& why) { note_end(entry, why); }),
      reconciler(
          {runtime, *database, table, sandboxes, options, rules},
          [this](const SandboxEntry& entry, const std::string& why) { note_end(entry, why); }),
      files({runtime, table, sandboxes, sandbox_operations, accounts, gate}),
      network({runtime, table, operations}),
      execs({runtime, table, gone, sandboxes, budgets, budget_watch, operations, accounts, rules}),
      streams(
          {runtime, table, sandboxes, sandbox_operations, operations, budgets, budget_watch, gone}),
      workspaces(
          directory / "workspaces",
          [this](const std::string& tenant) { return rules.most(tenant, Resource::KeptBytes); }),
      sessions({*database, table, sandboxes, execs, runtime, workspaces, budgets, budget_watch,
                operations, accounts, rules, gate, seal, session_jobs}),
      pools({sandboxes, table, runtime, accounts, operations, idempotency, gate, options}),
      detached({directory / "execs", *database, runtime, table, execs, budgets, budget_watch,
                operations, idempotency, accounts, rules}),
      evidence(operations, table),
      health({metrics, table, reconciler, pools, *chains, operations, *database, gate}) {
  made_streams = &streams;
  made_pools = &pools;
  sandboxes.set_ends_apart([this](const SandboxEntry& entry, const std::string& why) {
    return sessions.ends_apart(entry, why);
  });
  sandboxes.set_before_end(
      [this](const SandboxEntry& entry) { (void)sessions.keep_workspace(entry); });
}

void Service::Parts::note_end(const SandboxEntry& entry, const std::string& why) {
  // The owner ended it and wants no output. After a ttl or idle timeout the output can still be
  // read.
  if (why == kDestroyed || why == kReleased || why == kSessionEnded)
    detached.drop_outputs(entry.id);
  if (InitStreams* known = made_streams) known->ports().forget(entry);
  if (Pools* known = made_pools) known->forget(entry);
  if (entry.tenant.empty()) return;
  if (why == kEndedByItself) remember_why(entry);
  operations.note({entry.tenant, "daemon"}, "ended", {entry.id, entry.session, entry.secrets},
                  {"ok", why, {}, {}, {}, 0});
}

// Remembers the reason for callers that wait for an answer and are about to ask.
void Service::Parts::remember_why(const SandboxEntry& entry) {
  const Gone why = runtime.why_gone(entry.id);
  if (why.reason != Gone::Reason::Unknown) gone.add(entry.tenant, entry.id, why);
}

Result<> Service::Parts::start() {
  for (const std::string& what : TRY(reconciler.adopt()))
    options.notice(what);
  TRY(sessions.load());
  TRY(images.load());
  for (const PoolSpec& spec : options.pools)
    TRY(pools.define(spec));
  pools.adopt();
  TRY(detached.adopt());
  // Removes what earlier services left behind.
  if (reconciler.unanswered().empty()) sweep();
  clocks.emplace_back([this](const std::stop_token& stop) { tick(stop); });
  for (const BackendEntry& entry : backend_registry()) {
    clocks.emplace_back(
        [this, name = entry.name](const std::stop_token& stop) { tend_backend(name, stop); });
  }
  return {};
}

void Service::Parts::sweep() {
  for (const std::string& what : runtime.sweep(SweepMode::Remove).removed)
    options.notice("removed " + what);
}

void Service::Parts::tick(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  auto forgotten = Clock::now();
  bool is_swept = reconciler.unanswered().empty();
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, options.tick, [] { return false; });
    if (stop.stop_requested()) return;
    sessions.tend();
    pools.trim();
    operations.catch_up();
    runtime.tidy([this](const std::string& id) { return table.has(id); });
    if (!is_swept && reconciler.unanswered().empty()) {
      sweep();
      is_swept = true;
    }
    if (Clock::now() - forgotten > kForget) {
      detached.forget_old();
      idempotency.forget_old();
      forgotten = Clock::now();
    }
  }
}

void Service::Parts::tend_backend(const std::string& backend, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  auto reconciled = Clock::now();
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, options.tick, [] { return false; });
    if (stop.stop_requested()) return;
    budget_watch.look(backend);
    sandboxes.expire(backend);
    sandboxes.pass_deadlines(backend);
    if (Clock::now() - reconciled > kReconcile) {
      reconciler.reconcile(backend);
      reconciled = Clock::now();
    }
  }
}

Service::Service(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Service::~Service() = default;

Result<std::unique_ptr<Service>> Service::open(ServiceOptions options) {
  StateDirectory directory = TRY(StateDirectory::open(options.state_directory));
  if (options.audit.directory.empty()) options.audit.directory = directory / "audit";
  auto chains = TRY(audit::Chains::open(options.audit, options.rules.local_tenant, options.notice));
  const Seal seal =
      TRY(Seal::open(options.key_file.empty() ? directory / "state.key" : options.key_file));
  auto database = TRY(SqliteDatabase::open(directory / "state.db"));
  auto parts = std::make_unique<Parts>(std::move(options), std::move(directory), seal,
                                       std::move(database), std::move(chains));
  TRY(parts->start());
  return std::unique_ptr<Service>(new Service(std::move(parts)));
}

void Service::drain(const Deadline& deadline) {
  parts_->gate.drain(deadline);
}

void Service::set_rules(TenantRules rules) {
  parts_->rules.replace(std::move(rules));
  parts_->accounts.follow_rules();
}

SandboxFiles& Service::files() {
  return parts_->files;
}

SandboxNetwork& Service::network() {
  return parts_->network;
}

Sessions& Service::sessions() {
  return parts_->sessions;
}

Pools& Service::pools() {
  return parts_->pools;
}

InitStreams& Service::streams() {
  return parts_->streams;
}

Evidence& Service::evidence() {
  return parts_->evidence;
}

Health& Service::health() {
  return parts_->health;
}

Operations& Service::operations() {
  return parts_->operations;
}

// ---- Sandboxes ----------------------------------------------------------------------------------

Result<SandboxView> Service::create(const Caller& caller, const CreateRequest& request) {
  const auto work = TRY(parts_->gate.begin());
  const std::string& key = request.idempotency_key;
  const auto lock = parts_->idempotency.lock(caller.tenant, key);
  const std::string text = to_json_text(request.spec, Written::Kept);
  const auto before = TRY(parts_->idempotency.find(caller.tenant, key, text));
  if (auto made = parts_->table.find_made(caller.tenant, before)) return std::move(*made);
  auto made = parts_->operations.run(
      caller, {"create", {}, parts_->operations.describe(request.spec)},
      [&](Operation& operation) -> Result<SandboxView> {
        const std::string op = random_id(16);
        TRY(parts_->idempotency.note(caller.tenant, key, text, op));
        operation.subject.sandbox =
            TRY(parts_->sandboxes.make({.spec = request.spec,
                                        .caller = caller,
                                        .op = op,
                                        .ends_with_service = request.ends_with_service}));
        return find(caller, operation.subject.sandbox);
      });
  fault_point("create.told");
  if (!made) parts_->idempotency.forget(caller.tenant, key);
  return made;
}

Result<SandboxView> Service::find(const Caller& caller, const std::string& id) {
  return parts_->table.find_view(caller.tenant, id);
}

Result<SandboxPage> Service::list(const Caller& caller, const ListRequest& request) {
  return parts_->table.list(caller.tenant, request);
}

Result<> Service::destroy(const Caller& caller, const std::string& id) {
  auto ended = parts_->sandbox_operations.run(
      caller, id, "destroy", {},
      [&](const SandboxRef& ref, Operation&) { return parts_->sandboxes.end(ref.id, kDestroyed); });
  fault_point("destroy.told");
  return ended;
}

Result<SandboxView> Service::pause(const Caller& caller, const std::string& id) {
  return parts_->sandbox_operations.run(
      caller, id, "pause", {}, [&](const SandboxRef& ref, Operation&) -> Result<SandboxView> {
        TRY(parts_->sandboxes.pause(ref.id, Pausing::UntilResumed));
        return find(caller, ref.id);
      });
}

Result<SandboxView> Service::resume(const Caller& caller, const std::string& id) {
  return parts_->sandbox_operations.run(
      caller, id, "resume", {}, [&](const SandboxRef& ref, Operation&) -> Result<SandboxView> {
        TRY(parts_->sandboxes.resume(ref.id));
        return find(caller, ref.id);
      });
}

Result<SandboxView> Service::extend(const Caller& caller, const std::string& id,
                                    std::chrono::milliseconds ttl) {
  return parts_->sandbox_operations.run(
      caller, id, "extend", {"ttl_ms", std::to_string(ttl.count())},
      [&](const SandboxRef& ref, Operation&) -> Result<SandboxView> {
        TRY(parts_->sandboxes.extend(ref.id, ttl));
        return find(caller, ref.id);
      });
}

Result<SandboxSpec> Service::spec_of(const Caller& caller, const std::string& id) {
  const SandboxRef ref = TRY(parts_->table.find(caller.tenant, id));
  const auto entry = parts_->table.copy_of(ref.id);
  if (!entry) return no_such_sandbox(id);
  SandboxSpec spec = entry->spec;
  spec.environment = TRY(TRY(parts_->runtime.backend_of(ref.id))->environment_of(ref.id));
  return spec;
}

Result<SandboxView> Service::fork(const Caller& caller, const std::string& id) {
  const auto work = TRY(parts_->gate.begin());
  const auto fork_it = [&](const SandboxRef& ref, Operation& operation) -> Result<SandboxView> {
    const auto used = parts_->table.use(ref.id);
    TRY(parts_->sandboxes.wake(ref.id));
    SandboxSpec spec = TRY(spec_of(caller, ref.id));
    TRY(take_present_network(ref.id, spec));
    if (is_volume(spec.workspace)) spec.workspace.clear();  // two would write to the same files
    CallMemory memory = TRY(call_memory(caller));
    const auto copy_files = [&ref, &memory](Runtime& runtime, const std::string& made) {
      fault_point("fork.made");
      return copy_workspace(runtime, ref.id, made, charged_to(memory));
    };
    operation.subject.sandbox = TRY(
        parts_->sandboxes.make({.spec = std::move(spec), .caller = caller, .prepare = copy_files}));
    return find(caller, operation.subject.sandbox);
  };
  return parts_->sandbox_operations.run(caller, id, "fork", {}, fork_it);
}

Result<SandboxStats> Service::stats(const Caller& caller, const std::string& id) {
  const SandboxRef ref = TRY(parts_->table.find(caller.tenant, id));
  return parts_->runtime.stats(ref.id);
}

Result<Protections> Service::check(const Caller& caller, const SandboxSpec& spec) {
  return parts_->runtime.check(TRY(admit_spec(*parts_->rules.get(), caller, spec)));
}

// ---- Execs --------------------------------------------------------------------------------------

OutputRoom Service::output_room(const Caller& caller) {
  return {parts_->accounts.of(caller.tenant, Resource::OutputMemory),
          parts_->rules.get()->bounds.collected_bytes};
}

Result<CallMemory> Service::call_memory(const Caller& caller) {
  return memory_for_call(parts_->accounts, caller.tenant);
}

Result<ExecReply> Service::exec(const Caller& caller, const std::string& id,
                                const ExecRequest& request, const ExecOptions& options,
                                wire::ExecIo& io) {
  const auto work = TRY(parts_->gate.begin());
  const SandboxRef ref = TRY(parts_->table.find(caller.tenant, id));
  if (options.idempotency_key.empty()) return parts_->execs.run(caller, ref, request, options, io);
  return parts_->detached.run_once(caller, ref, request, options, io);
}

Result<ExecState> Service::start_exec(const Caller& caller, const std::string& id,
                                      const ExecRequest& request, const ExecOptions& options) {
  const auto work = TRY(parts_->gate.begin());
  return parts_->detached.start(caller, TRY(parts_->table.find(caller.tenant, id)), request,
                                options.idempotency_key);
}

Result<ExecState> Service::find_exec(const Caller& caller, const std::string& id,
                                     const std::string& exec_id) {
  return TRY(parts_->detached.find(caller.tenant, id, exec_id))->state();
}

Result<ExecState> Service::follow_exec(const Caller& caller, const std::string& id,
                                       const std::string& exec_id, const ExecOffsets& from,
                                       const Deadline& deadline, wire::ExecIo& io) {
  return TRY(parts_->detached.find(caller.tenant, id, exec_id))->follow(from, deadline, io);
}

Result<> Service::signal_exec(const Caller& caller, const std::string& id,
                              const std::string& exec_id, const wire::ExecEvent& event) {
  const auto exec = TRY(parts_->detached.find(caller.tenant, id, exec_id));
  const auto& identity = exec->identity();
  return parts_->operations.run(caller,
                                {"signal",
                                 {identity.sandbox, identity.session, {}},
                                 parts_->operations.describe_text("exec_id", identity.exec_id, {})},
                                [&](Operation&) -> Result<> {
                                  exec->send(event);
                                  return {};
                                });
}

Result<ToolReply> Service::call_tool(const Caller& caller, const std::string& id,
                                     const std::string& tool, const nlohmann::json& arguments,
                                     const ToolRunnerOptions& options) {
  const auto work = TRY(parts_->gate.begin());
  return parts_->execs.call_tool(caller, TRY(parts_->table.find(caller.tenant, id)), tool,
                                 arguments, options);
}

}  // namespace nutshell::service
