#include <fmt/format.h>

#include "base/defer.h"
#include "base/fault_point.h"
#include "base/random_id.h"
#include "service/pools/pools.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookAround = 250ms;  // of whoever waits: the caller may be gone

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

Result<std::string> Pools::acquire(const std::string& tenant, const AcquireRequest& request,
                                   const Choice& note) {
  const auto patience = Clock::now() + request.wait;
  auto got = acquire_once(tenant, request, note, patience);
  // It died between being chosen and being handed out: there are others.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (got || got.error().code != ErrorCode::Unavailable) break;
    got = acquire_once(tenant, request, note, patience);
  }
  return got;
}

// One that died while it waited is nobody's.
std::string Pools::take_idle(Pool& pool) {
  while (!pool.idle.empty()) {
    std::string id = pop_idle(pool);
    if (!runtime_.streams().has_ended(id)) return id;
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
  // One that waits gives its place to one that is made to order.
  if (!pool.idle.empty() && pool.ending == 0) put_away(pool, pop_idle(pool));
  return std::nullopt;
}

Result<> Pools::check_wait(const AcquireRequest& request, std::uint32_t most) const {
  if (request.wait.count() == 0) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("pool {} has all of its {} sandboxes in use", request.pool, most));
  }
  if (waiting_ < options_.most_waiting) return {};
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
  const Charge own_place = TRY(accounts_.take(tenant, Resource::Waiting, 1));
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
    // Room comes from what is ended, and there is nothing better to do.
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
  note_change(pool);
  if (handed.error().code == ErrorCode::NotFound)
    return failure(ErrorCode::Unavailable, handed.error().message);
  pool.idle.push_back({id, Clock::now()});  // unused: the tenant's quota is full, or the disk
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
  auto made =
      noted
          ? sandboxes_.make({.spec = bound, .caller = {tenant, {}}, .pool = request.pool, .op = op})
          : Result<std::string>(Failure(std::move(noted).error()));
  const std::lock_guard lock(mutex_);
  Pool& pool = pools_.at(request.pool);
  --pool.making;
  // It may have ended in the meantime: forget() did not know it then.
  if (made && table_.copy_of(*made)) pool.used.insert(*made);
  note_change(pool);
  return made;
}

}  // namespace nutshell::service
