// Which sandbox belongs to which client: made at first use, found again by its label, made anew
// when it is gone. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "server/mcp/host.h"
#include "server/mcp/sandbox/sandboxes.h"

namespace nutshell::mcp {

inline constexpr const char* kSessionLabel = "mcp.session";

// A label for a project directory or a name; the same for the same words, and nothing to guess a
// path from.
std::string session_label(std::string_view kind, std::string_view name);

class SandboxBinding {
 public:
  // `session` is the label of the clients that have no session of their own.
  SandboxBinding(Sandboxes& sandboxes, SandboxSpec spec, std::string session)
      : sandboxes_(sandboxes), spec_(std::move(spec)), session_(std::move(session)) {}

  struct Bound {
    enum class How : std::uint8_t { Known, Found, Made, MadeAnew };
    std::string id;
    How how = How::Known;
  };
  Result<Bound> bind(const Client& client);
  // The one it has, if it has one; makes none.
  Result<std::string> find(const Client& client);
  // After a call failed: whether the sandbox is no more. It is forgotten then.
  bool is_gone(const Client& client, const std::string& id);

  // For clients that name their sandboxes: those with the client's label, and only those.
  Result<std::string> create(const Client& client);
  Result<std::vector<SandboxStatus>> list(const Client& client);
  Result<SandboxStatus> own(const Client& client, const std::string& id);
  void forget(const Client& client, const std::string& id);

  [[nodiscard]] std::string label_of(const Client& client) const;

 private:
  SandboxSpec spec_for(const Client& client) const;

  Sandboxes& sandboxes_;
  SandboxSpec spec_;
  std::string session_;
  std::mutex mutex_;  // held while one is made: two calls at once must not make two
  struct Known {
    std::string id;
    bool had_one = false;
  };
  std::map<std::string, Known> known_;  // by label
};

}  // namespace nutshell::mcp
