// The lives of sandboxes: made, paused, extended, ended, and found again after a restart. Every act
// is in the state file before it is done. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "runtime/runtime.h"
#include "service/evidence/gone_list.h"
#include "service/model/caller.h"
#include "service/sandboxes/sandbox_store.h"
#include "service/sandboxes/sandbox_table.h"
#include "service/tenants/pulled_images.h"
#include "service/tenants/service_options.h"

namespace nutshell::service {

// Labels of ours on every sandbox that the service makes.
inline constexpr const char* kTenantLabel = "nutshell.tenant";
inline constexpr const char* kOperationLabel = "nutshell.op";
inline constexpr const char* kPoolLabel = "nutshell.pool";
// Its one user is a stream or a batch of the service that made it: no later service keeps it.
inline constexpr const char* kStreamLabel = "nutshell.stream";

// Why a sandbox is no longer there that nobody of ours ended.
inline constexpr const char* kEndedByItself = "it has ended";
// Why its owner ended it.
inline constexpr const char* kDestroyed = "destroyed";
inline constexpr const char* kReleased = "released";
inline constexpr const char* kSessionEnded = "its session was ended";

// Until somebody resumes it, or until somebody uses it.
enum class Pausing : std::uint8_t { UntilResumed, WhileIdle };

class Sandboxes {
 public:
  struct Ground {
    Runtime& runtime;
    Database& database;
    SandboxTable& table;
    Accounts& accounts;
    PulledImages& images;
    GoneList& gone;
    const ServiceOptions& options;
    const CurrentRules& rules;
  };
  // Told of each one that has ended, by whatever: its last state, and why.
  using OnEnd = std::function<void(const Held& held, const std::string& why)>;
  Sandboxes(const Ground& ground, OnEnd on_end)
      : ground_(ground), store_(ground.database), on_end_(std::move(on_end)) {}
  // A last look at one of a session before it is ended in order. Set before there is any.
  using BeforeEnd = std::function<void(const Held& held)>;
  void set_before_end(BeforeEnd before_end) { before_end_ = std::move(before_end); }
  // Whether somebody else ends one of a session whose time is over.
  using EndsApart = std::function<bool(const Held& held, const std::string& why)>;
  void set_ends_apart(EndsApart ends_apart) { ends_apart_ = std::move(ends_apart); }

  struct Order {
    SandboxSpec spec;
    Caller caller;  // its tenant is empty: the service itself, for a pool
    std::string session = {};
    std::string pool = {};
    std::string op = {};  // to be found again by; empty: any
    bool ends_with_service = false;
    // Until this has succeeded nobody else sees the sandbox, and it ends with this process.
    std::function<Result<>(Runtime& runtime, const std::string& id)> prepare = nullptr;
  };
  // Every sandbox of the service is made here, and what its maker may not have is refused here.
  // Returns its id.
  Result<std::string> make(Order order);
  // Idempotent.
  Result<> end(const std::string& id, const std::string& why);
  Result<> pause(const std::string& id, Pausing pausing);
  Result<> resume(const std::string& id);
  Result<> extend(const std::string& id, std::chrono::milliseconds ttl);
  // Asked of its init. One that has ended is let go here and now; its backend alone can tell that.
  bool is_alive(const std::string& id);
  // Its end does not come before; for what has to be done with it first.
  void give_time(const std::string& id, std::chrono::milliseconds least);
  // A waiting one of a pool becomes the tenant's, with these labels and clocks.
  Result<> hand_out(const std::string& id, const std::string& tenant, const SandboxSpec& bound);
  // No longer the tenant's, from now on and after a restart; end() does the rest.
  Result<Held> take_back(const std::string& id);

  // At the start: what runs is adopted, what was half done is undone. Gives words for what was. A
  // backend that does not answer is waited for no longer than its own deadlines; what the state
  // file has of it is kept, and settled once it answers.
  Result<std::vector<std::string>> adopt();
  // Those backends, and why each has not answered.
  std::map<std::string, std::string> unanswered();
  // Each for the sandboxes of one backend: another one that does not answer holds up nobody.
  // What runs now: sandboxes that are gone are let go, those of others are adopted.
  void reconcile(const std::string& backend);
  // Ends what has reached its ttl or idle timeout.
  void expire(const std::string& backend);
  // Tells the backend of deadlines that are new, so that they hold without us.
  void pass_deadlines(const std::string& backend);

 private:
  // `stream` is its first connection, where that is worth keeping.
  Result<std::string> start(const Order& order, SandboxRow& row, Held& held, UniqueFd& stream);
  SandboxSpec spec_for_backend(const Order& order, const SandboxRow& row, Backend& backend) const;
  // With the grace that leaves the end to us while we are there.
  Result<> pass_time_left(const std::string& id, const std::string& backend,
                          std::chrono::milliseconds left);
  Result<> stop(const std::string& backend, const std::string& id);
  void tell_why(const Held& held, const std::string& why);
  void let_go(const std::string& id, const std::string& why);
  struct Unanswered {
    std::string why;
    std::vector<SandboxRow> rows;  // of the start: what is made since then is none of its
  };
  using Words = std::vector<std::string>;
  Result<Words> settle(std::vector<SandboxRow> rows, const std::vector<SandboxStatus>& statuses);
  Result<Words> settle_unknown(const std::vector<SandboxStatus>& statuses,
                               const std::set<std::string>& known);
  void keep_unseen(const std::string& backend, const Error& why, std::vector<SandboxRow> rows);
  void settle_late(const std::string& backend, const std::vector<SandboxStatus>& statuses);
  void adopt_row(const SandboxRow& row, const SandboxStatus& status);
  Result<std::string> settle_row(const SandboxRow& row, const SandboxStatus* status);
  void adopt_foreign(const SandboxStatus& status);
  Result<bool> is_same_boot();
  Held held_of(const SandboxStatus& status);

  Ground ground_;
  SandboxStore store_;
  Guarded<std::map<std::string, Unanswered>> unanswered_;
  OnEnd on_end_;
  BeforeEnd before_end_;
  EndsApart ends_apart_;
};

}  // namespace nutshell::service
