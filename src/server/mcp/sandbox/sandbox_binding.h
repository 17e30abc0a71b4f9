// Maps clients to their sandboxes. A sandbox is made at first use, found again by its label, and
// made anew when it has ended. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "server/mcp/host.h"
#include "server/mcp/sandbox/sandboxes.h"

namespace nutshell::mcp {

// Label with the agreed revision, for a session that outlives the server.
inline constexpr const char* kRevisionLabel = "mcp.revision";

// Makes a label from a project directory or a name: the same for the same text, and a hash, so that
// it does not reveal a path.
std::string session_label(std::string_view kind, std::string_view name);

class SandboxBinding {
 public:
  // `session` is the label of the clients that have no session of their own.
  SandboxBinding(Sandboxes& sandboxes, SandboxSpec spec, std::string session)
      : sandboxes_(sandboxes),
        spec_(std::move(spec)),
        workspace_(spec_.workspace),
        session_(std::move(session)) {}

  using Bound = Sandboxes::Bound;
  Result<Bound> bind(const Client& client);
  // Finds the client's sandbox; makes none.
  Result<std::string> find(const Client& client);
  // Called when a call has failed. Forgets the sandbox if it has ended, and returns whether it has.
  bool is_gone(const Client& client, const std::string& id);

  // For clients that name their sandboxes: finds only those with the client's label.
  Result<std::string> create(const Client& client);
  Result<std::vector<SandboxStatus>> list(const Client& client);
  Result<SandboxStatus> own(const Client& client, const std::string& id);
  void forget(const Client& client, const std::string& id);

  [[nodiscard]] SessionKey key_of(const Client& client) const;

  // Sets the workspace of sandboxes that are made from now on, and their label unless it is empty.
  void adopt(const std::string& workspace, const std::string& label);
  [[nodiscard]] std::string workspace() const;

 private:
  [[nodiscard]] SandboxSpec spec_for(const Client& client) const;
  [[nodiscard]] std::optional<std::string> known_to(const std::string& label);

  Sandboxes& sandboxes_;
  const SandboxSpec spec_;
  std::string workspace_;  // in place of that of spec_; guarded, as session_, by mutex_
  std::string session_;
  mutable std::mutex mutex_;
  struct Known {
    std::string id;
    bool had_one = false;
    Clock::time_point ensured;
  };
  std::map<std::string, Known> known_;  // by label
};

}  // namespace nutshell::mcp
