#include "service/pools/pools.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/defer.h"
#include "base/fault_point.h"
#include "base/random_id.h"
#include "core/json_form.h"
#include "service/model/moments.h"
#include "service/sandboxes/spec_text.h"

namespace nutshell::service {
namespace {

constexpr std::chrono::seconds kPrepareTime{60};

using namespace std::chrono_literals;

constexpr auto kRetry = 1s;
constexpr auto kStopTime = 10s;  // for an engine that hangs while the daemon stops
constexpr std::size_t kMostAway = 8;

constexpr auto kLookAround = 250ms;  // how often a waiting caller is checked for having gone

// Two requests with the same text are the same for an idempotency key.
std::string encode_acquire(const AcquireRequest& request) {
  SandboxSpec like;
  like.labels = request.labels;
  like.ttl = request.ttl.value_or(std::chrono::milliseconds(0));
  like.idle_timeout = request.idle_timeout.value_or(std::chrono::milliseconds(0));
  like.environment = request.environment;
  like.workspace = request.workspace;
  if (request.limits) like.limits = *request.limits;
  return fmt::format("acquire {} {}", request.pool, to_json_text(like, Written::Kept));
}

Result<> check_network(const AcquireRequest& request) {
  if (request.network.empty() || request.network == "none") return {};
  return failure(
      ErrorCode::Unsupported,
      fmt::format("network '{:.80}': sandboxes of this backend reach nothing; \"none\" is "
                  "all that there is",
                  request.network));
}

SandboxSpec bound_spec(const SandboxSpec& spec, const AcquireRequest& request) {
  SandboxSpec bound = spec;
  for (const auto& [name, value] : request.labels)
    bound.labels[name] = value;
  if (request.ttl) bound.ttl = *request.ttl;
  if (request.idle_timeout) bound.idle_timeout = *request.idle_timeout;
  bound.environment.insert(bound.environment.end(), request.environment.begin(),
                           request.environment.end());
  if (!request.workspace.empty()) bound.workspace = request.workspace;
  if (request.limits) bound.limits = *request.limits;
  return bound;
}

bool needs_its_own(const AcquireRequest& request) {
  return !request.environment.empty() || !request.workspace.empty() || request.limits;
}

}  // namespace

Failure no_such_pool(const std::string& name) {
  return failure(ErrorCode::NotFound, fmt::format("no pool '{}'", name));
}

Pools::Pools(const Dependencies& uses) : uses_(uses) {
  refiller_ = std::jthread([this](const std::stop_token& stop) { refill(stop); });
  finisher_ = std::jthread([this](const std::stop_token& stop) { finish(stop); });
}

// Joins the refiller first: the sandbox that it is making may belong to a pool that was drained
// meanwhile, and the finisher then ends it.
Pools::~Pools() {
  refiller_.request_stop();
  refiller_.join();
  finisher_.request_stop();
}

Result<> Pools::define(const PoolSpec& spec) {
  TRY(check_spec(spec.spec));
  if (spec.name.empty()) return failure(ErrorCode::InvalidArgument, "a pool needs a name");
  if (spec.max_idle < spec.min_idle || spec.max_total < spec.max_idle) {
    return failure(
        ErrorCode::InvalidArgument,
        fmt::format("pool '{}': min_idle {} <= max_idle {} <= max_total {} does not hold",
                    spec.name, spec.min_idle, spec.max_idle, spec.max_total));
  }
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_[spec.name];
  const bool is_same_spec = hash_of_spec(pool.spec.spec) == hash_of_spec(spec.spec);
  // Ends idle sandboxes that were made with the earlier spec.
  while (!is_same_spec && !pool.idle.empty())
    put_away(pool, pop_idle(pool));
  pool.spec = spec;
  pool.is_drained = false;
  fill(pool);
  return {};
}

void Pools::retire_all_but(const std::set<std::string>& names) {
  const std::lock_guard lock(mutex_);
  for (auto& [name, pool] : pools_) {
    if (names.contains(name)) continue;
    pool.spec.min_idle = 0;
    pool.spec.max_total = 0;
    while (!pool.idle.empty())
      put_away(pool, pop_idle(pool));
    pool.line.wake_all();
  }
  clear_away();
}

void Pools::adopt() {
  const std::lock_guard lock(mutex_);
  for (const SandboxEntry& entry : uses_.table.all()) {
    if (entry.pool.empty()) continue;
    Pool& pool = pool_of(entry);
    if (!entry.tenant.empty()) {
      pool.used.insert(entry.id);
    } else if (entry.pool_spec == hash_of_spec(pool.spec.spec)) {
      pool.idle.push_back({entry.id, entry.started});
    } else {
      put_away(pool, entry.id);  // made with an earlier spec
    }
  }
  has_adopted_ = true;
  for (auto& [name, pool] : pools_)
    fill(pool);
  clear_away();
}

// A pool that left the settings has an entry with max_total 0 until its last sandbox has ended.
Pools::Pool& Pools::pool_of(const SandboxEntry& entry) {
  const auto [found, is_new] = pools_.try_emplace(entry.pool);
  if (is_new) {
    found->second.spec.name = entry.pool;
    found->second.spec.max_total = 0;
  }
  return found->second;
}

Result<Pools::Pool*> Pools::find(const std::string& tenant, const std::string& name) {
  const auto found = pools_.find(name);
  const bool is_there = found != pools_.end() && found->second.spec.max_total > 0;
  const auto& tenants = is_there ? found->second.spec.tenants : std::vector<std::string>();
  const bool may_use =
      tenants.empty() || std::find(tenants.begin(), tenants.end(), tenant) != tenants.end();
  if (!is_there || !may_use) return no_such_pool(name);
  return &found->second;
}

PoolStatus Pools::status_of(const Pool& pool) {
  PoolStatus status;
  status.name = pool.spec.name;
  status.total = pool.total();
  status.available = static_cast<std::uint32_t>(pool.idle.size());
  status.in_use = static_cast<std::uint32_t>(pool.used.size());
  status.waiting = static_cast<std::uint32_t>(pool.line.size());
  status.min_idle = pool.spec.min_idle;
  status.max_idle = pool.spec.max_idle;
  status.max_total = pool.spec.max_total;
  status.hits = pool.hits;
  status.misses = pool.misses;
  status.trouble = pool.trouble;
  return status;
}

std::vector<PoolStatus> Pools::status(const Caller& caller) {
  const std::lock_guard lock(mutex_);
  std::vector<PoolStatus> some;
  for (const auto& [name, pool] : pools_) {
    if (find(caller.tenant, name)) some.push_back(status_of(pool));
  }
  return some;
}

std::vector<PoolStatus> Pools::all() {
  const std::lock_guard lock(mutex_);
  std::vector<PoolStatus> all;
  all.reserve(pools_.size());
  for (const auto& [name, pool] : pools_)
    all.push_back(status_of(pool));
  return all;
}

std::string Pools::pop_idle(Pool& pool) {
  std::string id = std::move(pool.idle.front().id);
  pool.idle.pop_front();
  return id;
}

// Leaves the end of the sandbox to a waiting caller, to the next tick, or to the finisher if there
// are many, so that a release returns at once.
void Pools::put_away(Pool& pool, std::string id) {
  ++pool.ending;
  away_.emplace_back(pool.spec.name, std::move(id));
  if (pool.line.size() > 0) {
    pool.line.wake_last();
  } else if (away_.size() >= kMostAway) {
    clear_away();
  }
}

void Pools::clear_away() {
  if (away_.empty()) return;
  is_clearing_ = true;
  finish_wanted_.notify_one();
}

void Pools::fill(Pool& pool) {
  pool.is_filling = pool.lacks_some();
  if (pool.wants_more()) refill_wanted_.notify_one();
}

void Pools::note_change(Pool& pool) {
  pool.line.wake_first();
  if (pool.wants_more()) refill_wanted_.notify_one();
  changed_.notify_all();
}

void Pools::stop_waiting() {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
  for (const auto& [name, pool] : pools_)
    pool.line.wake_all();
}

Result<SandboxView> Pools::acquire(const Caller& caller, const AcquireRequest& request) {
  const auto work = TRY(uses_.gate.begin());
  if (!request.workspace.empty() && caller.host_files == HostFiles::Denied) {
    return failure(ErrorCode::PermissionDenied,
                   "a workspace is for clients on the daemon's own socket: copy files in instead");
  }
  const std::string& key = request.idempotency_key;
  const auto lock = uses_.idempotency.lock(caller.tenant, key);
  const std::string text = key.empty() ? std::string() : encode_acquire(request);
  const auto before = TRY(uses_.idempotency.find(caller.tenant, key, text));
  // If the key's sandbox was released, or never handed out, the key gets another one.
  if (auto made = uses_.table.find_made(caller.tenant, before)) return std::move(*made);
  const auto note_key = [&](const std::string& op) {
    return uses_.idempotency.note(caller.tenant, key, text, op);
  };
  auto acquired = uses_.operations.run(
      caller, {"acquire", {}, uses_.operations.describe(request)},
      [&](Operation& operation) -> Result<SandboxView> {
        TRY(check_network(request));
        operation.subject.sandbox = TRY(choose(caller.tenant, request, note_key));
        return uses_.table.find_view(caller.tenant, operation.subject.sandbox);
      });
  fault_point("acquire.told");
  if (!acquired) uses_.idempotency.forget(caller.tenant, key);
  return acquired;
}

Result<> Pools::release(const Caller& caller, const std::string& id) {
  const SandboxRef ref = TRY(uses_.table.find(caller.tenant, id));
  if (ref.pool.empty()) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("sandbox {} is of no pool: destroy it instead", ref.id));
  }
  auto released =
      uses_.operations.run(caller, {"release", subject_of(ref)}, [&](Operation&) -> Result<> {
        const SandboxEntry entry = TRY(uses_.sandboxes.take_back(ref.id));
        const std::lock_guard lock(mutex_);
        Pool& pool = pool_of(entry);
        pool.used.erase(ref.id);
        put_away(pool, ref.id);
        return {};
      });
  fault_point("release.told");
  return released;
}

Result<std::string> Pools::choose(const std::string& tenant, const AcquireRequest& request,
                                  const Choice& note) {
  const auto patience = Clock::now() + request.wait;
  auto got = acquire_once(tenant, request, note, patience);
  // The sandbox died between being chosen and being handed out: chooses another.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (got || got.error().code != ErrorCode::Unavailable) break;
    got = acquire_once(tenant, request, note, patience);
  }
  return got;
}

// Discards sandboxes that died while idle.
std::string Pools::take_idle(Pool& pool) {
  while (!pool.idle.empty()) {
    std::string id = pop_idle(pool);
    if (!uses_.runtime.streams().has_ended(id)) return id;
    put_away(pool, std::move(id));
  }
  return {};
}

std::optional<std::string> Pools::take_or_room(Pool& pool, const AcquireRequest& request) {
  if (!needs_its_own(request)) {
    std::string id = take_idle(pool);
    if (!id.empty()) return id;
  }
  if (pool.total() < pool.spec.max_total) return std::string();
  // Ends an idle sandbox to make room for one with the limits or environment of the request.
  if (!pool.idle.empty() && pool.ending == 0) put_away(pool, pop_idle(pool));
  return std::nullopt;
}

Result<> Pools::check_wait(const AcquireRequest& request, std::uint32_t most) const {
  if (request.wait.count() == 0) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("pool {} has all of its {} sandboxes in use", request.pool, most));
  }
  if (waiting_ < uses_.options.most_waiting) return {};
  return failure(ErrorCode::ResourceExhausted,
                 fmt::format("pool {} has all of its {} sandboxes in use, and {} callers wait for "
                             "pools already",
                             request.pool, most, waiting_));
}

Result<std::string> Pools::stand_in_line(Pool& pool, const std::string& tenant,
                                         const AcquireRequest& request,
                                         std::unique_lock<std::mutex>& lock,
                                         Clock::time_point patience) {
  if (pool.line.size() == 0) {
    if (auto taken = take_or_room(pool, request)) return std::move(*taken);
  }
  TRY(check_wait(request, pool.spec.max_total));
  const Charge own_place = TRY(uses_.accounts.take(tenant, Resource::Waiting, 1));
  ++waiting_;
  const Defer counted([this] { --waiting_; });
  WaitingLine::Place place(pool.line);
  for (;;) {
    if (is_stopping_) return failure(ErrorCode::Unavailable, "the daemon is stopping");
    if (pool.spec.max_total == 0) return no_such_pool(request.pool);
    if (!request.is_wanted()) return failure(ErrorCode::Cancelled, "the caller is gone");
    if (place.is_first()) {
      if (auto taken = take_or_room(pool, request)) return std::move(*taken);
    }
    const auto now = Clock::now();
    if (now >= patience) {
      return failure(ErrorCode::ResourceExhausted,
                     fmt::format("pool {} has all of its {} sandboxes in use, and none came free "
                                 "within {} ms",
                                 request.pool, pool.spec.max_total, request.wait.count()));
    }
    // Ends a sandbox on this thread, which makes room.
    if (can_finish()) {
      finish_one(lock);
    } else {
      place.wait_until(lock, std::min(patience, now + kLookAround));
    }
  }
}

Result<std::string> Pools::acquire_once(const std::string& tenant, const AcquireRequest& request,
                                        const Choice& note, Clock::time_point patience) {
  std::string id;
  {
    std::unique_lock lock(mutex_);
    Pool& pool = *TRY(find(tenant, request.pool));
    pool.is_drained = false;
    TRY(check_spec(bound_spec(pool.spec.spec, request)));
    id = TRY(stand_in_line(pool, tenant, request, lock, patience));
    if (id.empty()) {
      ++pool.making;
      ++pool.misses;
    } else {
      pool.used.insert(id);
      ++pool.hits;
    }
    // Refills when half are taken, or at the next tick, so that this caller gets the processor
    // first.
    if (pool.idle.size() <= pool.spec.min_idle / 2) fill(pool);
  }
  fault_point("acquire.chosen");
  return id.empty() ? make_for(tenant, request, note) : hand_out(tenant, id, request, note);
}

Result<std::string> Pools::hand_out(const std::string& tenant, const std::string& id,
                                    const AcquireRequest& request, const Choice& note) {
  SandboxSpec bound;
  {
    const std::lock_guard lock(mutex_);
    bound = bound_spec(pools_.at(request.pool).spec.spec, request);
  }
  const auto entry = uses_.table.copy_of(id);
  auto handed = note(entry ? entry->op : std::string());
  if (handed) handed = uses_.sandboxes.hand_out(id, tenant, bound);
  fault_point("acquire.noted");
  if (handed) return id;
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_.at(request.pool);
  pool.used.erase(id);
  note_change(pool);
  if (handed.error().code == ErrorCode::NotFound)
    return failure(ErrorCode::Unavailable, handed.error().message);
  pool.idle.push_back({id, Clock::now()});  // not used: the tenant's quota or the disk is full
  note_change(pool);
  return Failure(std::move(handed).error());
}

Result<std::string> Pools::make_for(const std::string& tenant, const AcquireRequest& request,
                                    const Choice& note) {
  SandboxSpec bound;
  {
    const std::lock_guard lock(mutex_);
    bound = bound_spec(pools_.at(request.pool).spec.spec, request);
  }
  const std::string op = random_id(16);
  auto noted = note(op);
  auto made = noted ? uses_.sandboxes.make(
                          {.spec = bound, .caller = {tenant, {}}, .pool = request.pool, .op = op})
                    : Result<std::string>(Failure(std::move(noted).error()));
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_.at(request.pool);
  --pool.making;
  // It may have ended meanwhile, before forget() could know it.
  if (made && uses_.table.copy_of(*made)) pool.used.insert(*made);
  note_change(pool);
  return made;
}

void Pools::forget(const SandboxEntry& entry) {
  if (entry.pool.empty()) return;
  const std::lock_guard lock(mutex_);
  Pool& pool = pool_of(entry);
  pool.used.erase(entry.id);
  std::erase_if(pool.idle, [&entry](const Idle& idle) { return idle.id == entry.id; });
  note_change(pool);
}

Result<> Pools::check_owner(const Caller& caller, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const Pool& pool = *TRY(find(caller.tenant, name));
  if (caller.host_files == HostFiles::Allowed || pool.spec.tenants == std::vector{caller.tenant})
    return {};
  return failure(ErrorCode::PermissionDenied,
                 fmt::format("pool '{}' is not yours alone: it is warmed and drained on the "
                             "daemon's own socket",
                             name));
}

Result<PoolStatus> Pools::warm(const Caller& caller, const std::string& name,
                               const Deadline& deadline) {
  TRY(check_owner(caller, name));
  const std::string arguments = uses_.operations.describe_text("pool", name, {});
  return uses_.operations.run(caller, {"warm pool", {}, arguments},
                              [&](Operation&) -> Result<PoolStatus> {
                                std::unique_lock lock(mutex_);
                                Pool& pool = *TRY(find(caller.tenant, name));
                                pool.is_drained = false;
                                pool.retry = {};
                                clear_away();
                                fill(pool);
                                while (pool.wants_more() || pool.making + pool.ending > 0) {
                                  if (deadline.has_passed()) break;
                                  changed_.wait_for(lock, 50ms);
                                }
                                return status_of(pool);
                              });
}

Result<std::uint32_t> Pools::drain(const Caller& caller, const std::string& name) {
  TRY(check_owner(caller, name));
  const std::string arguments = uses_.operations.describe_text("pool", name, {});
  return uses_.operations.run(caller, {"drain pool", {}, arguments},
                              [&](Operation&) -> Result<std::uint32_t> {
                                const std::lock_guard lock(mutex_);
                                Pool& pool = *TRY(find(caller.tenant, name));
                                pool.is_drained = true;
                                const auto count = static_cast<std::uint32_t>(pool.idle.size());
                                while (!pool.idle.empty())
                                  put_away(pool, pop_idle(pool));
                                clear_away();
                                return count;
                              });
}

Result<Limits> Pools::limits_of(const Caller& caller, const std::string& name) {
  const std::lock_guard lock(mutex_);
  return TRY(find(caller.tenant, name))->spec.spec.limits;
}

void Pools::trim() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, pool] : pools_) {
    while (!pool.idle.empty()) {
      const auto waited = since(pool.idle.front().since);
      const bool is_much = pool.idle.size() > pool.spec.max_idle;
      const bool is_unused =
          pool.idle.size() > pool.spec.min_idle && waited > pool.spec.idle_timeout;
      const bool is_old =
          waited > uses_.options.longest_life / 2;  // its next owner gets at least half a life
      if (!is_much && !is_unused && !is_old) break;
      put_away(pool, pop_idle(pool));
    }
    fill(pool);
  }
  clear_away();
}

// The pool with the fewest idle sandboxes among those that want more.
Pools::Pool* Pools::poorest() {
  Pool* chosen = nullptr;
  if (!has_adopted_) return chosen;
  for (auto& [name, pool] : pools_) {
    if (!pool.wants_more() || Clock::now() < pool.retry) continue;
    if (chosen == nullptr || pool.idle.size() < chosen->idle.size()) chosen = &pool;
  }
  return chosen;
}

void Pools::refill(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    Pool* pool = poorest();
    if (pool == nullptr) {
      refill_wanted_.wait_for(lock, stop, kRetry, [this] { return poorest() != nullptr; });
      continue;
    }
    const PoolSpec spec = pool->spec;
    ++pool->making;
    lock.unlock();
    auto made = uses_.sandboxes.make({.spec = spec.spec, .caller = {}, .pool = spec.name});
    if (made)
      (void)uses_.runtime.ping(*made, Deadline::in(kPrepareTime));  // else the first exec connects
    lock.lock();
    pool = &pools_.at(spec.name);
    --pool->making;
    const bool is_there = made && uses_.table.copy_of(*made);
    // The pool may have been drained, retired or given another spec meanwhile.
    const bool is_wanted = !pool->is_drained && pool->spec.max_total > 0 &&
                           hash_of_spec(pool->spec.spec) == hash_of_spec(spec.spec);
    if (is_there && is_wanted) pool->idle.push_back({*made, Clock::now()});
    if (is_there && !is_wanted) put_away(*pool, *made);
    pool->is_filling = pool->lacks_some();
    pool->trouble = made ? "" : made.error().message;
    if (!made) pool->retry = Clock::now() + kRetry;
    note_change(*pool);
  }
}

bool Pools::can_finish() const {
  return !away_.empty() && Clock::now() >= finish_retry_;
}

// Releases the lock while the sandbox ends.
void Pools::finish_one(std::unique_lock<std::mutex>& lock) {
  const auto [name, id] = std::move(away_.front());
  away_.pop_front();
  lock.unlock();
  const auto ended = uses_.sandboxes.end(id, kReleased);
  lock.lock();
  Pool& pool = pools_.at(name);
  if (ended) {
    --pool.ending;
    note_change(pool);
  } else {
    away_.emplace_back(name, id);
    finish_retry_ = Clock::now() + kRetry;
  }
}

void Pools::finish(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!finish_wanted_.wait(lock, stop, [this] { return is_clearing_; })) break;
    if (away_.empty()) {
      is_clearing_ = false;
    } else if (can_finish()) {
      finish_one(lock);
    } else {
      finish_wanted_.wait_for(lock, stop, kRetry, [] { return false; });
    }
  }
  // Ends sandboxes that were released or drained. Those that cannot be ended now are in the state
  // file, and the next daemon ends them.
  const Deadline deadline = Deadline::in(kStopTime);
  for (std::size_t left = away_.size(); left > 0 && !deadline.has_passed(); --left)
    finish_one(lock);
}

}  // namespace nutshell::service
