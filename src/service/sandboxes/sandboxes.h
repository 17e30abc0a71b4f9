// The lives of sandboxes: made, paused, extended, ended. Each step is in the state file before it
// is done. Thread-safe.
#pragma once

#include <functional>
#include <string>

#include "runtime/download_directory.h"
#include "runtime/runtime.h"
#include "service/evidence/gone_list.h"
#include "service/model/caller.h"
#include "service/sandboxes/sandbox_store.h"
#include "service/sandboxes/sandbox_table.h"
#include "service/tenants/pulled_images.h"
#include "service/tenants/service_options.h"

namespace nutshell::service {

// Labels that the service puts on every sandbox that it makes.
inline constexpr const char* kOperationLabel = "nutshell.op";
inline constexpr const char* kPoolLabel = "nutshell.pool";
// Names the state directory of the service, so that another service of the same user, in the same
// runtime directory, leaves the sandbox alone.
inline constexpr const char* kOwnerLabel = "nutshell.owner";
std::string owner_of(const std::filesystem::path& state_directory);
// Marks a sandbox for one stream or batch item: a later service ends it.
inline constexpr const char* kStreamLabel = "nutshell.stream";

// Reasons for the end of a sandbox: the service did not end it;
inline constexpr const char* kEndedByItself = "it has ended";
// its owner ended it.
inline constexpr const char* kDestroyed = "destroyed";
inline constexpr const char* kReleased = "released";
inline constexpr const char* kSessionEnded = "its session was ended";

// Paused until it is resumed, or until it is used.
enum class Pausing : std::uint8_t { UntilResumed, WhileIdle };

class Sandboxes {
 public:
  struct Dependencies {
    Runtime& runtime;
    Database& database;
    SandboxTable& table;
    Accounts& accounts;
    PulledImages& images;
    GoneList& gone;
    const ServiceOptions& options;
    const CurrentRules& rules;
  };
  // Called with the last state of each sandbox that has ended, and why.
  using OnEnd = std::function<void(const SandboxEntry& entry, const std::string& why)>;
  Sandboxes(const Dependencies& uses, OnEnd on_end)
      : uses_(uses), store_(uses.database), on_end_(std::move(on_end)) {}
  // Called before a sandbox of a session is ended. To be set before there are sandboxes.
  using BeforeEnd = std::function<void(const SandboxEntry& entry)>;
  void set_before_end(BeforeEnd before_end) { before_end_ = std::move(before_end); }
  // Called when the time of a session's sandbox is over; true if the callee ends it.
  using EndsApart = std::function<bool(const SandboxEntry& entry, const std::string& why)>;
  void set_ends_apart(EndsApart ends_apart) { ends_apart_ = std::move(ends_apart); }

  struct Order {
    SandboxSpec spec;
    Caller caller;  // the tenant is empty for a pool
    std::string session = {};
    std::string pool = {};
    std::string op = {};  // names the sandbox in the state file; chosen if empty
    bool ends_with_service = false;
    // Runs before anybody else sees the sandbox. Until it succeeds the sandbox ends with this
    // process.
    std::function<Result<>(Runtime& runtime, const std::string& id)> prepare = nullptr;
  };
  // Makes a sandbox and returns its id. Refuses what the caller may not have.
  Result<std::string> make(Order order);
  // Idempotent.
  Result<> end(const std::string& id, const std::string& why);
  Result<> pause(const std::string& id, Pausing pausing);
  Result<> resume(const std::string& id);
  // Resumes a sandbox that was paused because it was idle; Unavailable if its owner paused it. To
  // be called once the sandbox counts as used, or it may be paused again meanwhile.
  Result<> wake(const std::string& id);
  Result<> extend(const std::string& id, std::chrono::milliseconds ttl);
  // No sandbox lives longer.
  [[nodiscard]] std::chrono::milliseconds longest_life() const {
    return uses_.options.longest_life;
  }
  // Asks its init, and the backend if init does not answer. Forgets a sandbox that has ended.
  bool is_alive(const std::string& id);
  // Moves the deadline so that the sandbox lives at least this long.
  void give_time(const std::string& id, std::chrono::milliseconds least);
  // Gives an idle sandbox of a pool to the tenant, with the labels and clocks of `bound`.
  Result<> hand_out(const std::string& id, const std::string& tenant, const SandboxSpec& bound);
  // Takes a sandbox from its tenant, also for the time after a restart; end() has to follow.
  Result<SandboxEntry> take_back(const std::string& id);

  // Stops a sandbox and removes what the host kept for it.
  Result<> stop(const std::string& backend, const std::string& id);
  // Forgets a sandbox that has ended by itself.
  void let_go(const std::string& id, const std::string& why);

  // These two act on the sandboxes of one backend, so that a backend which does not answer holds up
  // no other.
  // Ends sandboxes that have reached their ttl or idle timeout.
  void expire(const std::string& backend);
  // Passes new deadlines to the backend, which keeps them while no service runs.
  void pass_deadlines(const std::string& backend);

 private:
  // Sets `stream` to a connection to init if connections to the backend are costly.
  Result<std::string> start(const Order& order, SandboxRow& row, SandboxEntry& entry,
                            UniqueFd& stream);
  SandboxSpec spec_for_backend(const Order& order, const SandboxRow& row, Backend& backend) const;
  // Adds the grace time, so that the service ends the sandbox first if it runs.
  Result<> pass_time_left(const std::string& id, const std::string& backend,
                          std::chrono::milliseconds left);
  void tell_why(const SandboxEntry& entry, const std::string& why);

  Dependencies uses_;
  SandboxStore store_;
  OnEnd on_end_;
  BeforeEnd before_end_;
  EndsApart ends_apart_;
};

}  // namespace nutshell::service
