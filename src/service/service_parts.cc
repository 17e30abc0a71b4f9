#include "service/service_parts.h"

#include <fmt/format.h>

#include "service/tenants/allowed.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kReconcile = 2s;
constexpr auto kForget = 30s;

}  // namespace

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
      images(*database, accounts),
      budgets(*database),
      budget_watch({runtime, table, budgets}),
      idempotency(*database,
                  [this](const std::string& tenant) { return rules.most(tenant, Resource::Keys); }),
      sandboxes({runtime, *database, table, accounts, images, gone, options, rules},
                [this](const Held& held, const std::string& why) { note_end(held, why); }),
      execs({runtime, table, gone, sandboxes, budgets, budget_watch, operations, accounts, rules}),
      workspaces(
          directory / "workspaces",
          [this](const std::string& tenant) { return rules.most(tenant, Resource::KeptBytes); }),
      sessions({*database, table, sandboxes, execs, runtime, workspaces, budgets, budget_watch,
                operations, accounts, seal, keepers}),
      pools(sandboxes, table, runtime, accounts, options),
      detached({directory / "execs", *database, runtime, table, execs, budgets, budget_watch,
                operations, idempotency, accounts, rules}) {
  told_pools = &pools;
  sandboxes.set_ends_apart(
      [this](const Held& held, const std::string& why) { return sessions.ends_apart(held, why); });
  sandboxes.set_before_end([this](const Held& held) { (void)sessions.keep_workspace(held); });
}

void Service::Parts::note_end(const Held& held, const std::string& why) {
  // Its owner ended it, and wants no more of it. One that ran out of time can still be read.
  if (why == kDestroyed || why == kReleased || why == kSessionEnded) detached.drop_outputs(held.id);
  if (Pools* known = told_pools) known->forget(held);
  if (held.tenant.empty()) return;
  if (why == kEndedByItself) remember_why(held);
  operations.note({held.tenant, "daemon"}, "ended", {held.id, held.session, held.secrets},
                  {"ok", why, {}, {}, {}, 0});
}

// Whoever still waits for its answer asks in a moment.
void Service::Parts::remember_why(const Held& held) {
  const Gone why = runtime.why_gone(held.id);
  if (why.reason != Gone::Reason::Unknown) gone.add(held.tenant, held.id, why);
}

Result<> Service::Parts::start() {
  for (const std::string& what : TRY(sandboxes.adopt()))
    options.notice(what);
  TRY(sessions.load());
  TRY(images.load());
  for (const PoolSpec& spec : options.pools)
    TRY(pools.define(spec));
  pools.adopt();
  TRY(detached.adopt());
  // What earlier lives left behind.
  if (sandboxes.unanswered().empty()) sweep();
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
  bool is_swept = sandboxes.unanswered().empty();
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, options.tick, [] { return false; });
    if (stop.stop_requested()) return;
    sessions.tend();
    pools.trim();
    operations.catch_up();
    runtime.tidy([this](const std::string& id) { return table.has(id); });
    if (!is_swept && sandboxes.unanswered().empty()) {
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
      sandboxes.reconcile(backend);
      reconciled = Clock::now();
    }
  }
}

Result<Service::Parts::Work> Service::Parts::begin_work() {
  const std::lock_guard lock(work_mutex);
  if (is_draining) return failure(ErrorCode::Unavailable, "the daemon is stopping");
  ++work;
  return Work(*this);
}

Service::Parts::Work::~Work() {
  if (parts_ == nullptr) return;
  const std::lock_guard lock(parts_->work_mutex);
  --parts_->work;
  parts_->work_done.notify_all();
}

}  // namespace nutshell::service
