// The sandboxes that live, as far as the service knows: whose they are, what their clocks say, who
// uses them, and what each tenant has of its quota. Thread-safe; does no I/O.
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

struct Held {
  std::string id;
  std::string op;      // empty: it was made without the service, and its backend ends it
  std::string tenant;  // empty: it waits in a pool
  SandboxSpec spec;    // with the user's labels; without the environment
  std::vector<std::string> secrets;  // of its environment: never written down
  Protections protections;
  std::string why_copied;
  std::string session;
  std::string pool;
  std::string pool_spec;  // hash of the pool's spec that it was made by
  std::chrono::system_clock::time_point created;
  Clock::time_point started = Clock::now();
  Clock::time_point listed_after = Clock::now();  // a list from before cannot know it
  Clock::time_point deadline;
  std::chrono::milliseconds left{0};  // while paused
  Clock::time_point last_used = Clock::now();
  SandboxState state = SandboxState::Running;
  bool resumes_on_use = false;   // it was paused because nobody used it
  bool is_deadline_new = false;  // the backend does not know it yet
  bool is_unseen = false;        // only the state file tells of it: its backend has not answered
  std::uint32_t users = 0;
};

// What an operation needs to know of a sandbox.
struct Grip {
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

  // The charges are the sandbox's from now on: given back when it is removed.
  void insert(Held held, Accounts::Charges charges);
  // One that was adopted is counted too, whatever the quota says; in place of what was known of it.
  void adopt(Held held);
  // Out of the pool, into a tenant's hands. Refused by the quota; nothing then.
  Result<> bind(const std::string& id, Held owner);
  // Back into the pool.
  void unbind(const std::string& id);
  std::optional<Held> remove(const std::string& id);

  // By its id, or the unambiguous beginning of one of this tenant's. Unavailable: it is not seen
  // yet.
  Result<Grip> find(const std::string& tenant, const std::string& id);
  std::optional<Held> copy_of(const std::string& id);
  bool has(const std::string& id);
  // How it is now, whatever a grip says.
  struct Rest {
    bool is_paused = false;
    bool resumes_on_use = false;
    bool is_used = false;
    bool is_unseen = false;
  };
  Rest rest_of(const std::string& id);
  void change(const std::string& id, const std::function<void(Held&)>& step);

  // Counts as used from now until the end of this object.
  class Use {
   public:
    Use(SandboxTable& table, std::string id) : table_(&table), id_(std::move(id)) {}
    Use(Use&& other) noexcept : table_(std::exchange(other.table_, nullptr)), id_(other.id_) {}
    Use& operator=(Use&&) = delete;
    ~Use();

   private:
    SandboxTable* table_;
    std::string id_;
  };
  Use use(const std::string& id);

  SandboxPage list(const std::string& tenant, const ListRequest& request);
  std::vector<Held> all();
  std::vector<Held> those(const std::function<bool(const Held&)>& are_wanted);

  static SandboxView view(const Held& held);
  static SandboxView view_without_protections(const Held& held);

 private:
  struct State {
    std::map<std::string, Held> held;
    std::map<std::string, Accounts::Charges> charges;  // by id
  };

  Accounts& accounts_;
  Guarded<State> state_;
};

// What is kept of a spec as long as its sandbox lives, in bytes.
std::uint64_t state_bytes_of(const SandboxSpec& spec);

// The same for one that never was and for another tenant's.
Failure no_such_sandbox(const std::string& id);

}  // namespace nutshell::service
