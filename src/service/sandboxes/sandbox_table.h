// The table of sandboxes that the service knows: their tenants, deadlines, users and charges.
// Thread-safe; does no I/O.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/guarded.h"
#include "service/model/sandbox_view.h"
#include "service/tenants/accounts.h"

namespace nutshell::service {

// A row of the table.
struct SandboxEntry {
  std::string id;
  std::string op;      // empty if it was made without the service: its backend ends it
  std::string tenant;  // empty while it is idle in a pool
  SandboxSpec spec;    // with the user's labels; without the environment
  std::vector<std::string> secrets;  // values of its environment that are never recorded
  Protections protections;
  std::string why_copied;
  std::string session;
  std::string pool;
  std::string pool_spec;  // hash of the pool's spec that it was made by
  std::chrono::system_clock::time_point created;
  Clock::time_point started = Clock::now();
  Clock::time_point listed_after =
      Clock::now();  // a list of the backend from before this moment may lack it
  Clock::time_point deadline;
  std::chrono::milliseconds left{0};  // of the ttl, while paused
  Clock::time_point last_used = Clock::now();
  SandboxState state = SandboxState::Running;
  bool resumes_on_use = false;   // it was paused because it was idle
  bool is_deadline_new = false;  // the backend does not know it yet
  bool is_unseen = false;        // its backend has not answered since the start
  std::uint32_t users = 0;
};

// Names a sandbox of a tenant, with what operations need to know about it.
struct SandboxRef {
  std::string id;
  std::string backend;
  std::string tenant;
  std::string session;
  std::string pool;
  std::vector<std::string> secrets;
  SandboxState state = SandboxState::Running;
  std::uint64_t disk_bytes = 0;  // its limit
};

class SandboxTable {
 public:
  explicit SandboxTable(Accounts& accounts) : accounts_(accounts) {}

  // The charges are given back when the sandbox is removed.
  void insert(SandboxEntry entry, Accounts::Charges charges);
  // Inserts or replaces the entry of a sandbox that exists already, and charges for it beyond the
  // quota if need be.
  void adopt(SandboxEntry entry);
  // Gives a sandbox of a pool to a tenant. Changes nothing if the quota refuses it.
  Result<> bind(const std::string& id, SandboxEntry owner);
  // Gives it back to the pool.
  void unbind(const std::string& id);
  std::optional<SandboxEntry> remove(const std::string& id);

  // Finds a sandbox of this tenant by its id, or by an unambiguous beginning of it. Unavailable
  // while its backend has not answered since the start.
  Result<SandboxRef> find(const std::string& tenant, const std::string& id);
  Result<SandboxView> find_view(const std::string& tenant, const std::string& id);
  // The tenant's sandbox that the operation `op` made, if it still lives.
  std::optional<SandboxView> find_made(const std::string& tenant,
                                       const std::optional<std::string>& op);
  std::optional<SandboxEntry> copy_of(const std::string& id);
  bool has(const std::string& id);
  // The current state, which may be newer than that of a SandboxRef.
  struct CurrentState {
    bool is_paused = false;
    bool resumes_on_use = false;
    bool is_used = false;
    bool is_unseen = false;
  };
  CurrentState current_state(const std::string& id);
  void change(const std::string& id, const std::function<void(SandboxEntry&)>& step);

  // The sandbox counts as used until the end of this object.
  class Use {
   public:
    Use(SandboxTable& table, std::string id) : table_(&table), id_(std::move(id)) {}
    Use(Use&& other) noexcept
        : table_(std::exchange(other.table_, nullptr)), id_(std::move(other.id_)) {}
    Use& operator=(Use&&) = delete;
    ~Use();

   private:
    SandboxTable* table_;
    std::string id_;
  };
  Use use(const std::string& id);

  SandboxPage list(const std::string& tenant, const ListRequest& request);
  std::vector<SandboxEntry> all();
  std::vector<SandboxEntry> those(const std::function<bool(const SandboxEntry&)>& are_wanted);

  static SandboxView view(const SandboxEntry& entry);
  static SandboxView view_without_protections(const SandboxEntry& entry);

 private:
  struct State {
    std::map<std::string, SandboxEntry> entries;
    std::map<std::string, Accounts::Charges> charges;  // by id
  };

  Accounts& accounts_;
  Guarded<State> state_;
};

// Memory that the service needs for a spec as long as its sandbox lives.
std::uint64_t state_bytes_of(const SandboxSpec& spec);

// The same message whether the sandbox never existed or is another tenant's.
Failure no_such_sandbox(const std::string& id);

}  // namespace nutshell::service
