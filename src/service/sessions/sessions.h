// Sessions: sandboxes with names, which are made at first use, made again when they were lost, and
// ended when their lease is over. Thread-safe.
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
#include "service/state/work_gate.h"

namespace nutshell::service {

inline constexpr std::size_t kMostSetupOutput = 64U << 10U;
inline constexpr std::size_t kMostSessionJobs = 16;

class Sessions {
 public:
  struct Dependencies {
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
    const CurrentRules& rules;
    WorkGate& gate;
    const Seal& seal;  // encrypts requests and setups in the state file
    NamedJobs& jobs;   // end sandboxes whose files have to be kept first
  };
  explicit Sessions(const Dependencies& uses) : uses_(uses) {}

  Result<> load();
  // Finds the session, or makes it: its sandbox, and its setup commands, exactly once for each of
  // its lives. A session that is there keeps its spec, setup and budget; its lease is renewed.
  Result<SessionView> ensure(const Caller& caller, const SessionRequest& request);
  Result<SessionView> find(const Caller& caller, const std::string& name);
  SessionPage list(const Caller& caller, const ListRequest& request);
  Result<SessionView> renew(const Caller& caller, const std::string& name,
                            std::chrono::milliseconds lease);
  Result<> end(const Caller& caller, const std::string& name);
  // Removes the files that sessions of this name kept. The session itself goes on.
  Result<> forget_workspace(const Caller& caller, const std::string& name);
  // Saves the files of a session's sandbox that is about to be ended, if the session keeps files.
  Result<> keep_workspace(const SandboxEntry& entry);
  // Starts a job that saves the files and then ends the sandbox; false if the session keeps none.
  bool ends_apart(const SandboxEntry& entry, const std::string& why);
  // Ends sessions whose lease is over and pauses idle ones.
  void tend();

 private:
  using Key = std::pair<std::string, std::string>;  // tenant, name
  struct Session {
    SessionRequest request;
    std::string sandbox;
    std::uint32_t life = 0;
    bool is_ready = false;  // the setup has run
    bool is_kept = false;   // the files are saved, for the end that comes now
    std::vector<SetupOutput> setup;
    Clock::time_point lease_end;
    std::int64_t created_ms = 0;
  };
  Result<SessionView> find_or_make(const Caller& caller, const SessionRequest& request);
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
  // Charges the tenant for a new session.
  Result<> open_account(const Key& key, const Session& session);
  void charge_anyway(const Key& key, const Session& session);
  void note_setup(const Key& key, Session& session, SetupOutput output);
  Result<> run_setup(const Caller& caller, const Key& key, Session& session);
  Result<> keep_before_end(const Key& key, const Session& session);
  Result<> end_locked(const Key& key, const Session& session);
  void end_kept(const SandboxEntry& entry, const std::string& why);
  void end_overdue(const Key& key);
  [[nodiscard]] std::chrono::milliseconds life_of(const SessionRequest& request) const;
  Result<SessionView> go_on(const Caller& caller, const Key& key, Session session);

  Dependencies uses_;
  NamedLocks locks_;
  Guarded<std::map<Key, Session>> sessions_;
  struct Charged {
    Charge place;
    Charge bytes;
  };
  Guarded<std::map<Key, Charged>> charged_;
};

}  // namespace nutshell::service
