#include "service/pools/pools.h"

#include <fmt/format.h>

#include <algorithm>

#include "service/model/moments.h"
#include "service/sandboxes/spec_text.h"

namespace nutshell::service {
namespace {

constexpr std::chrono::seconds kPrepareTime{60};

using namespace std::chrono_literals;

constexpr auto kRetry = 1s;
constexpr auto kStopTime = 10s;  // for an engine that hangs while the daemon stops
constexpr std::size_t kMostAway = 8;

}  // namespace

Failure no_such_pool(const std::string& name) {
  return failure(ErrorCode::NotFound, fmt::format("no pool '{}'", name));
}

Pools::Pools(Sandboxes& sandboxes, SandboxTable& table, Runtime& runtime, Accounts& accounts,
             const ServiceOptions& options)
    : sandboxes_(sandboxes),
      table_(table),
      runtime_(runtime),
      accounts_(accounts),
      options_(options) {
  refiller_ = std::jthread([this](const std::stop_token& stop) { refill(stop); });
  finisher_ = std::jthread([this](const std::stop_token& stop) { finish(stop); });
}

// The refiller first: what it is making may belong to a pool that was drained meanwhile, and the
// finisher then ends it.
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
  // Sandboxes that were made by the earlier spec are not handed out any more.
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
  for (const Held& held : table_.all()) {
    if (held.pool.empty()) continue;
    Pool& pool = pool_of(held);
    if (!held.tenant.empty()) {
      pool.used.insert(held.id);
    } else if (held.pool_spec == hash_of_spec(pool.spec.spec)) {
      pool.idle.push_back({held.id, held.started});
    } else {
      put_away(pool, held.id);  // made by another spec than the settings have now
    }
  }
  has_adopted_ = true;
  for (auto& [name, pool] : pools_)
    fill(pool);
  clear_away();
}

// A pool that left the settings keeps an entry without room: its last sandboxes end, and none is
// made.
Pools::Pool& Pools::pool_of(const Held& held) {
  const auto [found, is_new] = pools_.try_emplace(held.pool);
  if (is_new) {
    found->second.spec.name = held.pool;
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

Result<std::vector<PoolStatus>> Pools::status(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  std::vector<PoolStatus> all;
  for (const auto& [name, pool] : pools_) {
    if (find(tenant, name)) all.push_back(status_of(pool));
  }
  return all;
}

std::vector<PoolStatus> Pools::everything() {
  const std::lock_guard lock(mutex_);
  std::vector<PoolStatus> all;
  for (const auto& [name, pool] : pools_)
    all.push_back(status_of(pool));
  return all;
}

std::string Pools::pop_idle(Pool& pool) {
  std::string id = std::move(pool.idle.front().id);
  pool.idle.pop_front();
  return id;
}

// Ended in batches, and not while whoever gave it back is still busy: at the next tick, when there
// are many, or by somebody who waits for the room.
void Pools::put_away(Pool& pool, std::string id) {
  ++pool.ending;
  away_.emplace_back(pool.spec.name, std::move(id));
  if (pool.line.size() > 0) {
    pool.line.wake_somebody();
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

Result<> Pools::release(const std::string& id) {
  const Held held = TRY(sandboxes_.take_back(id));
  const std::lock_guard lock(mutex_);
  Pool& pool = pool_of(held);
  pool.used.erase(id);
  put_away(pool, id);
  return {};
}

void Pools::forget(const Held& held) {
  if (held.pool.empty()) return;
  const std::lock_guard lock(mutex_);
  Pool& pool = pool_of(held);
  pool.used.erase(held.id);
  std::erase_if(pool.idle, [&held](const Waiting& waiting) { return waiting.id == held.id; });
  note_change(pool);
}

Result<PoolStatus> Pools::warm(const std::string& tenant, const std::string& name,
                               const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  Pool& pool = *TRY(find(tenant, name));
  pool.is_drained = false;
  pool.retry = {};
  clear_away();
  fill(pool);
  while (pool.wants_more() || pool.making + pool.ending > 0) {
    if (deadline.has_passed()) break;
    changed_.wait_for(lock, 50ms);
  }
  return status_of(pool);
}

Result<std::uint32_t> Pools::drain(const std::string& tenant, const std::string& name) {
  const std::lock_guard lock(mutex_);
  Pool& pool = *TRY(find(tenant, name));
  pool.is_drained = true;
  const auto count = static_cast<std::uint32_t>(pool.idle.size());
  while (!pool.idle.empty())
    put_away(pool, pop_idle(pool));
  clear_away();
  return count;
}

Result<Limits> Pools::limits_of(const std::string& tenant, const std::string& name) {
  const std::lock_guard lock(mutex_);
  return TRY(find(tenant, name))->spec.spec.limits;
}

Result<bool> Pools::is_for_alone(const std::string& tenant, const std::string& name) {
  const std::lock_guard lock(mutex_);
  return TRY(find(tenant, name))->spec.tenants == std::vector{tenant};
}

void Pools::trim() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, pool] : pools_) {
    while (!pool.idle.empty()) {
      const auto waited = since(pool.idle.front().since);
      const bool is_much = pool.idle.size() > pool.spec.max_idle;
      const bool is_unused =
          pool.idle.size() > pool.spec.min_idle && waited > pool.spec.idle_timeout;
      const bool is_old = waited > options_.longest_life / 2;  // whoever gets it wants a whole life
      if (!is_much && !is_unused && !is_old) break;
      put_away(pool, pop_idle(pool));
    }
    fill(pool);
  }
  clear_away();
}

// The one with the fewest that wait, of those that want more.
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
    auto made = sandboxes_.make({.spec = spec.spec, .caller = {}, .pool = spec.name});
    if (made)
      (void)runtime_.ping(*made, Deadline::in(kPrepareTime));  // else the first exec connects
    lock.lock();
    pool = &pools_.at(spec.name);
    --pool->making;
    const bool is_there = made && table_.copy_of(*made);
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

// The lock is open meanwhile.
void Pools::finish_one(std::unique_lock<std::mutex>& lock) {
  const auto [name, id] = std::move(away_.front());
  away_.pop_front();
  lock.unlock();
  const auto ended = sandboxes_.end(id, kReleased);
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
  // What was given back or drained ends with the daemon. The state directory still names those that
  // cannot be ended now: the next daemon has them.
  const Deadline deadline = Deadline::in(kStopTime);
  for (std::size_t left = away_.size(); left > 0 && !deadline.has_passed(); --left)
    finish_one(lock);
}

}  // namespace nutshell::service
