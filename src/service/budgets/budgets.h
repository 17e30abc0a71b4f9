// The budgets of sessions, exact however many execs run at once: what an exec could use is reserved
// before it starts, and what it did not use is given back. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/deadline.h"
#include "base/guarded.h"
#include "core/exec.h"
#include "service/model/session_view.h"
#include "service/state/database.h"

namespace nutshell::service {

class Budgets {
 public:
  explicit Budgets(Database& database) : database_(database) {}

  void define(const std::string& tenant, const std::string& session, const Budget& budget,
              const Usage& usage);
  void forget(const std::string& tenant, const std::string& session);
  Usage usage(const std::string& tenant, const std::string& session);

  struct Reservation {
    std::string tenant;
    std::string session;  // empty: nothing to settle
    Usage amount;
  };
  // Narrows the limits to what is left of the budget, or refuses. The reservation is in the state
  // file before the exec starts.
  Result<Reservation> reserve(const std::string& tenant, const std::string& session,
                              ExecLimits& limits);
  void settle(const Reservation& reservation, const Usage& used);

  // Whether CPU time, wall time or output are bounded.
  bool is_bounded(const std::string& tenant, const std::string& session);
  // `total` is the CPU time that the sandbox's cgroup has counted since the sandbox was made,
  // whatever process used it. The budget begins with the first count of a sandbox; later counts add
  // the difference. From then on the CPU time that execs report is not counted. While no exec of
  // the session runs and the sandbox uses CPU, its wall time counts as well.
  void count_cpu(const std::string& tenant, const std::string& session, const std::string& sandbox,
                 std::chrono::microseconds total, Clock::time_point now = Clock::now());
  // Why the budget is used up, so that every process of the sandbox must end; empty if something is
  // left.
  std::string why_over(const std::string& tenant, const std::string& session);

 private:
  using Key = std::pair<std::string, std::string>;
  struct Account {
    Budget budget;
    Usage used;
    Usage reserved;
    std::string counted_sandbox;  // empty if CPU time is what execs report
    std::chrono::microseconds counted_cpu{0};
    // When what runs without an exec was last looked at, and the CPU time until then.
    Clock::time_point looked_at;
    std::chrono::microseconds looked_cpu{0};
  };
  static void count_background(Account& account, Clock::time_point now);
  static Result<Usage> set_aside(const std::string& session, Account& account, ExecLimits& limits);
  Result<> save(const Key& key, const Usage& used);
  // The last count in the state file. It lets the next daemon count what ran while none did.
  std::optional<std::chrono::microseconds> last_count(const Key& key, const std::string& sandbox);

  Database& database_;
  Guarded<std::map<Key, Account>> accounts_;
};

Usage usage_of(const ExecResult& result);

}  // namespace nutshell::service
