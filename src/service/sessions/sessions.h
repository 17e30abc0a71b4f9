// Sandboxes under names: made at first use, found again, made again when they were lost, ended when
// nobody renews them. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "service/budgets/budget_watch.h"
#include "service/budgets/budgets.h"
#include "service/evidence/operations.h"
#include "service/execs/execs.h"
#include "service/model/session_view.h"
#include "service/sandboxes/kept_workspaces.h"
#include "service/sandboxes/sandboxes.h"
#include "service/state/named_jobs.h"
#include "service/state/named_locks.h"
#include "service/state/seal.h"

namespace nutshell::service {

inline constexpr std::size_t kMostSetupOutput = 64U << 10U;
inline constexpr std::size_t kMostKeepers = 16;

class Sessions {
 public:
  struct Ground {
    Database& database;
    SandboxTable& table;
    Sandboxes& sandboxes;
    Execs& execs;
    Runtime& runtime;
    KeptWorkspaces& workspaces;
    Budgets& budgets;
    BudgetWatch& watch;
    Operations& operations;
    Accounts& accounts;
    const Seal& seal;    // for what the state file holds of them
    NamedJobs& keepers;  // end those whose files have to be kept first
  };
  explicit Sessions(const Ground& ground) : ground_(ground) {}

  Result<> load();
  Result<SessionView> ensure(const Caller& caller, const SessionRequest& request);
  Result<SessionView> find(const Caller& caller, const std::string& name);
  SessionPage list(const Caller& caller, const ListRequest& request);
  Result<SessionView> renew(const Caller& caller, const std::string& name,
                            std::chrono::milliseconds lease);
  Result<> end(const Caller& caller, const std::string& name);
  // Its files, where it keeps them. The session itself goes on.
  Result<> forget_workspace(const Caller& caller, const std::string& name);
  // The sandbox of a session is about to be ended.
  Result<> keep_workspace(const Held& held);
  // Whether it is ended by a thread of ours, which keeps its files first.
  bool ends_apart(const Held& held, const std::string& why);
  // Ends those whose lease is over, pauses those that nobody uses.
  void tend();

 private:
  using Key = std::pair<std::string, std::string>;  // tenant, name
  struct Session {
    SessionRequest request;
    std::string sandbox;
    std::uint32_t life = 0;
    bool is_ready = false;  // its setup has run
    bool is_kept = false;   // its files, for the end that comes now
    std::vector<SetupOutput> setup;
    Clock::time_point lease_end;
    std::int64_t created_ms = 0;
  };
  std::optional<Session> copy_of(const Key& key);
  SessionView view(const Key& key, const Session& session);
  Result<> save(const Key& key, const Session& session);
  Result<Session> decode_row(const Key& key, const Row& row);
  Result<> erase(const Key& key);
  static std::string lock_name(const Key& key);
  NamedLocks::Lock lock(const Key& key);
  bool lives(const Key& key, const Session& session);
  Result<std::string> end_last_life(const Key& key, const Session& session);
  Result<> make_life(const Caller& caller, const Key& key, Session& session);
  Result<> give_up(const Key& key, Session session, const Usage& usage);
  Result<SessionView> begin_life(const Caller& caller, const Key& key, Session session);
  Result<> bring_workspace(const Key& key, const Session& session);
  // Charges the tenant for a new session; for one that is there, nothing.
  Result<> open_account(const Key& key, const Session& session);
  void charge_anyway(const Key& key, const Session& session);
  void note_setup(const Key& key, Session& session, SetupOutput output);
  Result<> run_setup(const Caller& caller, const Key& key, Session& session);
  Result<> keep_before_end(const Key& key, const Session& session);
  Result<> end_locked(const Key& key, const Session& session);
  void end_kept(const Held& held, const std::string& why);
  void end_overdue(const Key& key);
  Result<SessionView> go_on(const Caller& caller, const Key& key, Session session);

  Ground ground_;
  NamedLocks locks_;
  Guarded<std::map<Key, Session>> sessions_;
  struct Charged {
    Charge place;
    Charge bytes;
  };
  Guarded<std::map<Key, Charged>> charged_;
};

}  // namespace nutshell::service
