// Pools of sandboxes that are made ahead, handed out at once and never used twice. The bounds of a
// pool hold under any load: callers wait in order while all of it is taken. Sandboxes are made and
// ended on threads of the pools, and on those of waiting callers. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/runtime.h"
#include "service/model/pool_view.h"
#include "service/sandboxes/sandbox_operations.h"
#include "service/sandboxes/sandboxes.h"
#include "service/state/idempotency.h"
#include "service/state/waiting_line.h"
#include "service/state/work_gate.h"

namespace nutshell::service {

// The answer for a pool that does not exist, and for one that this tenant may not use.
Failure no_such_pool(const std::string& name);

class Pools {
 public:
  struct Dependencies {
    Sandboxes& sandboxes;
    SandboxTable& table;
    Runtime& runtime;
    Accounts& accounts;
    Operations& operations;
    Idempotency& idempotency;
    WorkGate& gate;
    const ServiceOptions& options;
  };
  explicit Pools(const Dependencies& uses);
  Pools(const Pools&) = delete;
  Pools& operator=(const Pools&) = delete;
  ~Pools();

  Result<> define(const PoolSpec& spec);
  // Retires every pool that is not named: ends its idle sandboxes and makes none. Sandboxes in use
  // stay with their tenants.
  void retire_all_but(const std::set<std::string>& names);
  // Called once, at the start, before any sandbox is made: takes over the sandboxes of pools. Ends
  // idle ones whose pool left the settings or has another spec now.
  void adopt();
  // The pools that the caller may use.
  std::vector<PoolStatus> status(const Caller& caller);
  std::vector<PoolStatus> all();
  // Hands out a sandbox, or makes one. While all of the pool is taken the caller waits, as long as
  // the request says; then ResourceExhausted.
  Result<SandboxView> acquire(const Caller& caller, const AcquireRequest& request);
  // Destroys the sandbox, so that nothing of its user is left; a fresh one takes its place.
  Result<> release(const Caller& caller, const std::string& id);
  Result<Limits> limits_of(const Caller& caller, const std::string& name);
  // warm() and drain() are for a tenant that has the pool alone, and for the daemon's own socket.
  // Makes sandboxes until min_idle are idle, or the deadline.
  Result<PoolStatus> warm(const Caller& caller, const std::string& name, const Deadline& deadline);
  // Ends the idle sandboxes and returns their number. None is made until the next acquire or warm.
  Result<std::uint32_t> drain(const Caller& caller, const std::string& name);
  // Called when a sandbox has ended, whatever the reason.
  void forget(const SandboxEntry& entry);
  // Refuses callers that wait, now and later.
  void stop_waiting();
  // At each tick: ends idle sandboxes that are too many or too old, and makes missing ones.
  void trim();

 private:
  struct Idle {
    std::string id;
    Clock::time_point since;
  };
  struct Pool {
    PoolSpec spec;
    std::deque<Idle> idle;
    std::set<std::string> used;
    std::uint32_t making = 0;
    std::uint32_t ending = 0;
    WaitingLine line;  // callers that wait for a sandbox
    bool is_drained = false;
    bool is_filling =
        false;  // until min_idle are idle; then not before the next tick, or half are taken
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::string trouble;
    Clock::time_point retry;  // not before this moment, after a failure

    [[nodiscard]] std::uint32_t total() const {
      return static_cast<std::uint32_t>(idle.size() + used.size()) + making + ending;
    }
    [[nodiscard]] bool lacks_some() const {
      return !is_drained && idle.size() + making < spec.min_idle;
    }
    [[nodiscard]] bool wants_more() const {
      return is_filling && lacks_some() && total() + line.size() < spec.max_total;
    }
  };
  Result<Pool*> find(const std::string& tenant, const std::string& name);  // locked
  Pool& pool_of(const SandboxEntry& entry);                                // locked
  static PoolStatus status_of(const Pool& pool);
  std::string pop_idle(Pool& pool);  // locked
  // Called with the operation that made the chosen sandbox, before it is handed out; an error keeps
  // the sandbox in the pool.
  using Choice = std::function<Result<>(const std::string& op)>;
  Result<> check_owner(const Caller& caller, const std::string& name);
  // Returns the id of a sandbox that is the tenant's from now on.
  Result<std::string> choose(const std::string& tenant, const AcquireRequest& request,
                             const Choice& note);
  Result<std::string> acquire_once(const std::string& tenant, const AcquireRequest& request,
                                   const Choice& note, Clock::time_point patience);
  Result<std::string> hand_out(const std::string& tenant, const std::string& id,
                               const AcquireRequest& request, const Choice& note);
  Result<std::string> make_for(const std::string& tenant, const AcquireRequest& request,
                               const Choice& note);
  std::string take_idle(Pool& pool);  // locked
  // The id of an idle sandbox, or an empty id if there is room to make one.
  std::optional<std::string> take_or_room(Pool& pool, const AcquireRequest& request);  // locked
  Result<std::string> stand_in_line(Pool& pool, const std::string& tenant,
                                    const AcquireRequest& request,
                                    std::unique_lock<std::mutex>& lock, Clock::time_point patience);
  [[nodiscard]] Result<> check_wait(const AcquireRequest& request, std::uint32_t most) const;
  void put_away(Pool& pool, std::string id);  // locked
  void clear_away();                          // locked
  void fill(Pool& pool);                      // locked
  void note_change(Pool& pool);               // locked
  [[nodiscard]] bool can_finish() const;      // locked
  void finish_one(std::unique_lock<std::mutex>& lock);
  void refill(const std::stop_token& stop);
  void finish(const std::stop_token& stop);
  Pool* poorest();  // locked

  Dependencies uses_;
  std::mutex mutex_;
  std::condition_variable_any refill_wanted_;
  std::condition_variable_any finish_wanted_;
  std::condition_variable changed_;  // for warm()
  std::map<std::string, Pool> pools_;
  bool has_adopted_ = false;  // before, existing sandboxes are not counted
  std::deque<std::pair<std::string, std::string>> away_;  // pool, id
  Clock::time_point finish_retry_;                        // not before this moment, after a failure
  bool is_clearing_ = false;                              // until all of away_ have ended
  std::size_t waiting_ = 0;                               // callers in all lines
  bool is_stopping_ = false;
  std::jthread refiller_;  // the threads come last: they use all of the above
  std::jthread finisher_;
};

}  // namespace nutshell::service
