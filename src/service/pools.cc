#include "service/pools.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random_id.h"
#include "service/fault_point.h"
#include "service/moments.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kRetry = 1s;
constexpr auto kPatience = 10s;  // of whoever acquires while others are being made or ended
constexpr std::size_t kMostAway = 8;

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

Pools::Pools(Sandboxes& sandboxes, SandboxTable& table, Connections& connections,
             const ServiceOptions& options)
    : sandboxes_(sandboxes), table_(table), connections_(connections), options_(options) {
  refiller_ = std::jthread([this](const std::stop_token& stop) { refill(stop); });
  finisher_ = std::jthread([this](const std::stop_token& stop) { finish(stop); });
}

Pools::~Pools() {
  refiller_.request_stop();
  finisher_.request_stop();
}

Result<> Pools::define(const PoolSpec& spec) {
  TRY(check_spec(spec.spec));
  if (spec.name.empty() || spec.max_idle < spec.min_idle || spec.max_total < spec.max_idle) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("pool '{}': it needs a name, and min_idle <= max_idle <= max_total",
                               spec.name));
  }
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_[spec.name];
  const bool is_same_spec = pool.spec.spec.limits == spec.spec.limits &&
                            pool.spec.spec.image == spec.spec.image &&
                            pool.spec.spec.backend == spec.spec.backend;
  // What waits was made by the old words.
  while (!is_same_spec && !pool.idle.empty())
    put_away(pool, pop_idle(pool));
  pool.spec = spec;
  pool.is_drained = false;
  fill(pool);
  return {};
}

void Pools::adopt() {
  const std::lock_guard lock(mutex_);
  for (const Held& held : table_.all()) {
    if (held.pool.empty()) continue;
    const bool is_known = pools_.contains(held.pool);
    Pool& pool = pools_[held.pool];
    if (!held.tenant.empty()) {
      pool.used.insert(held.id);
    } else if (is_known) {
      pool.idle.push_back({held.id, held.started});
    } else {
      put_away(pool, held.id);
    }
    if (!is_known) pool.spec.name = held.pool;
    if (!is_known) pool.spec.max_total = 0;  // its last ones end, and none is made
  }
  has_adopted_ = true;
  for (auto& [name, pool] : pools_)
    fill(pool);
  clear_away();
}

Result<Pools::Pool*> Pools::find(const std::string& tenant, const std::string& name) {
  const auto found = pools_.find(name);
  const bool is_there = found != pools_.end() && found->second.spec.max_total > 0;
  const auto& tenants = is_there ? found->second.spec.tenants : std::vector<std::string>();
  const bool may_use =
      tenants.empty() || std::find(tenants.begin(), tenants.end(), tenant) != tenants.end();
  if (!is_there || !may_use) return failure(ErrorCode::NotFound, fmt::format("no pool '{}'", name));
  return &found->second;
}

PoolStatus Pools::status_of(const Pool& pool) {
  PoolStatus status;
  status.name = pool.spec.name;
  status.total = pool.total();
  status.available = static_cast<std::uint32_t>(pool.idle.size());
  status.in_use = static_cast<std::uint32_t>(pool.used.size());
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

// Ended in batches, and not while whoever gave it back is still busy: at the next tick, or when
// there are many.
void Pools::put_away(Pool& pool, std::string id) {
  ++pool.ending;
  away_.emplace_back(pool.spec.name, std::move(id));
  if (away_.size() >= kMostAway) clear_away();
}

void Pools::clear_away() {
  if (away_.empty()) return;
  is_clearing_ = true;
  changed_.notify_all();
}

void Pools::fill(Pool& pool) {
  pool.is_filling = pool.lacks_some();
  if (pool.wants_more()) changed_.notify_all();
}

Result<std::string> Pools::acquire(const std::string& tenant, const AcquireRequest& request,
                                   const Choice& note) {
  auto got = acquire_once(tenant, request, note);
  // It died between being chosen and being handed out: there are others.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (got || got.error().code != ErrorCode::Unavailable) break;
    got = acquire_once(tenant, request, note);
  }
  return got;
}

// One that died while it waited is nobody's.
std::string Pools::take_idle(Pool& pool) {
  while (!pool.idle.empty()) {
    std::string id = pop_idle(pool);
    if (connections_.stands(id)) return id;
    put_away(pool, std::move(id));
  }
  return {};
}

// An id, or none: there is room to make one.
Result<std::string> Pools::take_or_room(Pool& pool, const AcquireRequest& request,
                                        std::unique_lock<std::mutex>& lock) {
  const auto patience = Clock::now() + kPatience;
  for (;;) {
    if (!needs_its_own(request)) {
      std::string id = take_idle(pool);
      if (!id.empty()) return id;
    }
    if (pool.total() < pool.spec.max_total) return std::string();
    // One that waits gives its place to one that is made to order.
    if (!pool.idle.empty() && pool.ending == 0) put_away(pool, pop_idle(pool));
    if (pool.ending + pool.making == 0) {
      return failure(ErrorCode::ResourceExhausted,
                     fmt::format("pool {} has all of its {} sandboxes in use", request.pool,
                                 pool.spec.max_total));
    }
    clear_away();
    ++pool.awaited;
    const auto status = changed_.wait_until(lock, patience);
    --pool.awaited;
    if (status == std::cv_status::timeout)
      return failure(ErrorCode::ResourceExhausted, fmt::format("pool {} is full", request.pool));
  }
}

Result<std::string> Pools::acquire_once(const std::string& tenant, const AcquireRequest& request,
                                        const Choice& note) {
  std::string id;
  {
    std::unique_lock lock(mutex_);
    Pool& pool = *TRY(find(tenant, request.pool));
    pool.is_drained = false;
    TRY(check_spec(bound_spec(pool.spec.spec, request)));
    id = TRY(take_or_room(pool, request, lock));
    if (id.empty()) {
      ++pool.making;
      ++pool.misses;
    } else {
      pool.used.insert(id);
      ++pool.hits;
    }
    // Whoever acquires has something to do now: what is missing is made a moment later, or when
    // half of it is.
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
  const auto held = table_.copy_of(id);
  auto handed = note(held ? held->op : std::string());
  if (handed) handed = sandboxes_.hand_out(id, tenant, bound);
  fault_point("acquire.noted");
  if (handed) return id;
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_.at(request.pool);
  pool.used.erase(id);
  if (handed.error().code == ErrorCode::NotFound)
    return failure(ErrorCode::Unavailable, handed.error().message);
  pool.idle.push_back({id, Clock::now()});  // unused: the tenant's quota is full, or the disk
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
  auto made = noted ? sandboxes_.make({bound, tenant, {}, request.pool, op})
                    : Result<std::string>(Failure(std::move(noted).error()));
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_.at(request.pool);
  --pool.making;
  // It may have ended in the meantime: forget() did not know it then.
  if (made && table_.copy_of(*made)) pool.used.insert(*made);
  changed_.notify_all();
  return made;
}

Result<> Pools::release(const std::string& id) {
  const Held held = TRY(sandboxes_.take_back(id));
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_[held.pool];
  pool.used.erase(id);
  put_away(pool, id);
  return {};
}

void Pools::forget(const Held& held) {
  if (held.pool.empty()) return;
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_[held.pool];
  pool.used.erase(held.id);
  std::erase_if(pool.idle, [&held](const Waiting& waiting) { return waiting.id == held.id; });
  changed_.notify_all();
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
      changed_.wait_for(lock, stop, kRetry, [this] { return poorest() != nullptr; });
      continue;
    }
    const PoolSpec spec = pool->spec;
    ++pool->making;
    lock.unlock();
    auto made = sandboxes_.make({spec.spec, {}, {}, spec.name, {}});
    if (made) (void)connections_.prepare(*made);  // else the first exec connects
    lock.lock();
    pool = &pools_.at(spec.name);
    --pool->making;
    const bool is_there = made && table_.copy_of(*made);
    if (is_there && pool->is_drained) put_away(*pool, *made);  // drained while it was made
    if (is_there && !pool->is_drained) pool->idle.push_back({*made, Clock::now()});
    pool->is_filling = pool->lacks_some();
    pool->trouble = made ? "" : made.error().message;
    if (!made) pool->retry = Clock::now() + kRetry;
    changed_.notify_all();
  }
}

void Pools::finish(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!changed_.wait(lock, stop, [this] { return is_clearing_; })) return;
    if (away_.empty()) {
      is_clearing_ = false;
      continue;
    }
    const auto [name, id] = away_.front();
    away_.pop_front();
    lock.unlock();
    const auto ended = sandboxes_.end(id, "released");
    lock.lock();
    if (ended) {
      --pools_.at(name).ending;
    } else {
      away_.emplace_back(name, id);
      changed_.wait_for(lock, stop, kRetry, [] { return false; });
    }
    changed_.notify_all();
  }
}

}  // namespace nutshell::service
