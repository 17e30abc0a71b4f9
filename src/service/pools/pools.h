// Sandboxes that wait for somebody: made ahead, handed out at once, never used twice. The bounds of
// a pool hold under any load: who comes when all of it is taken stands in line. Making and ending
// happens on threads of their own, and on those of callers who wait. Thread-safe.
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
#include "service/sandboxes/sandboxes.h"
#include "service/state/waiting_line.h"

namespace nutshell::service {

// The answer for a pool that does not exist, and for one that this tenant may not use.
Failure no_such_pool(const std::string& name);

class Pools {
 public:
  Pools(Sandboxes& sandboxes, SandboxTable& table, Runtime& runtime, Accounts& accounts,
        const ServiceOptions& options);
  Pools(const Pools&) = delete;
  Pools& operator=(const Pools&) = delete;
  ~Pools();

  Result<> define(const PoolSpec& spec);
  // The settings have no other pools any more: what waits in others ends, and nothing is made for
  // them. Sandboxes in use stay with their tenants.
  void retire_all_but(const std::set<std::string>& names);
  // Once, at the start, before any sandbox is made: takes over the sandboxes that wait and those in
  // use. Ends the waiting ones whose pool left the settings, or has another spec there now.
  void adopt();
  Result<std::vector<PoolStatus>> status(const std::string& tenant);
  std::vector<PoolStatus> everything();
  // Told of the chosen one's operation before it is handed out; an error keeps it here.
  using Choice = std::function<Result<>(const std::string& op)>;
  // The id of a sandbox that is the tenant's from now on. ResourceExhausted: none came free in
  // time.
  Result<std::string> acquire(const std::string& tenant, const AcquireRequest& request,
                              const Choice& note);
  Result<> release(const std::string& id);
  Result<PoolStatus> warm(const std::string& tenant, const std::string& name,
                          const Deadline& deadline);
  Result<std::uint32_t> drain(const std::string& tenant, const std::string& name);
  Result<Limits> limits_of(const std::string& tenant, const std::string& name);
  Result<bool> is_for_alone(const std::string& tenant, const std::string& name);
  // It has ended, by whatever.
  void forget(const Held& held);
  // Whoever waits is refused, from now on.
  void stop_waiting();
  // At each tick: what is too many or too old ends, what is missing is made.
  void trim();

 private:
  struct Waiting {
    std::string id;
    Clock::time_point since;
  };
  struct Pool {
    PoolSpec spec;
    std::deque<Waiting> idle;
    std::set<std::string> used;
    std::uint32_t making = 0;
    std::uint32_t ending = 0;
    WaitingLine line;  // of callers who take what room there will be
    bool is_drained = false;
    bool is_filling = false;  // until min_idle wait; then not before the next tick, or half is gone
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::string trouble;
    Clock::time_point retry;  // after trouble, not at once

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
  Pool& pool_of(const Held& held);                                         // locked
  static PoolStatus status_of(const Pool& pool);
  std::string pop_idle(Pool& pool);  // locked
  Result<std::string> acquire_once(const std::string& tenant, const AcquireRequest& request,
                                   const Choice& note, Clock::time_point patience);
  Result<std::string> hand_out(const std::string& tenant, const std::string& id,
                               const AcquireRequest& request, const Choice& note);
  Result<std::string> make_for(const std::string& tenant, const AcquireRequest& request,
                               const Choice& note);
  std::string take_idle(Pool& pool);  // locked
  // An id, or an empty one: there is room to make one.
  std::optional<std::string> take_or_room(Pool& pool, const AcquireRequest& request);  // locked
  Result<std::string> stand_in_line(Pool& pool, const std::string& tenant,
                                    const AcquireRequest& request,
                                    std::unique_lock<std::mutex>& lock, Clock::time_point patience);
  [[nodiscard]] Result<> check_wait(const AcquireRequest& request, std::uint32_t most) const;
  void put_away(Pool& pool, std::string id);  // locked
  void clear_away();                          // locked
  void fill(Pool& pool);                      // locked
  void note_change(Pool& pool);               // locked: something came free, or is there
  [[nodiscard]] bool can_finish() const;      // locked
  void finish_one(std::unique_lock<std::mutex>& lock);
  void refill(const std::stop_token& stop);
  void finish(const std::stop_token& stop);
  Pool* poorest();  // locked

  Sandboxes& sandboxes_;
  SandboxTable& table_;
  Runtime& runtime_;
  Accounts& accounts_;
  const ServiceOptions& options_;
  std::mutex mutex_;
  std::condition_variable_any refill_wanted_;
  std::condition_variable_any finish_wanted_;
  std::condition_variable changed_;  // for whoever warms
  std::map<std::string, Pool> pools_;
  bool has_adopted_ = false;  // before that, what there is already is not counted
  std::deque<std::pair<std::string, std::string>> away_;  // pool, id
  Clock::time_point finish_retry_;                        // after trouble, not at once
  bool is_clearing_ = false;                              // until all of those have ended
  std::size_t waiting_ = 0;                               // in all lines
  bool is_stopping_ = false;
  std::jthread refiller_;  // last: they use all of the above
  std::jthread finisher_;
};

}  // namespace nutshell::service
