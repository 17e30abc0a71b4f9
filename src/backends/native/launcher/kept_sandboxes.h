// The sandboxes that the launcher keeps: found by id, by the key of their event, and in the order
// in which they end. So no request has to walk through all of them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/native/launcher/kept_sandbox.h"
#include "backends/native/launcher/launcher_protocol.h"

namespace nutshell::native {

class KeptSandboxes {
 public:
  [[nodiscard]] std::size_t size() const { return by_id_.size(); }
  // Null, or with require() NotFound, if there is no such sandbox. The pointer is valid until the
  // sandbox is removed.
  KeptSandbox* find(const std::string& id);
  Result<KeptSandbox*> require(const std::string& id);
  [[nodiscard]] std::optional<std::string> id_of(std::uint64_t key) const;

  // Returns the new sandbox's id.
  std::string add(KeptSandbox kept);
  // The sandbox must be there.
  KeptSandbox remove(const std::string& id);

  // To be called after kept.end may have changed.
  void update_end(KeptSandbox& kept);
  // When the first sandbox ends; nullopt if there are none.
  [[nodiscard]] std::optional<Clock::time_point> first_end() const;
  [[nodiscard]] std::vector<std::string> overdue(Clock::time_point now) const;

  static SandboxStatus status_of(const std::string& id, const KeptSandbox& kept);
  // Fills the reply with a page of the sandboxes whose ids are above `after`.
  void list(const std::string& after, LauncherReply& reply) const;

 private:
  std::map<std::string, KeptSandbox> by_id_;
  std::map<std::uint64_t, std::string> ids_;                    // by key
  std::set<std::pair<Clock::time_point, std::uint64_t>> ends_;  // with the key
};

}  // namespace nutshell::native
