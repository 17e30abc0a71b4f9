// The sandboxes of this user through the runtime, for `nutshell mcp`.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/deadline.h"
#include "base/guarded.h"
#include "server/mcp/sandbox/sandboxes.h"

namespace nutshell::mcp {

class RuntimeSandboxes : public Sandboxes {
 public:
  explicit RuntimeSandboxes(BackendContext context) : runtime_(std::move(context)) {}

  Result<Bound> ensure(const SessionKey& session, const SandboxSpec& spec) override;
  Result<std::string> find(const SessionKey& session) override;
  Result<std::vector<SandboxStatus>> list(const SessionKey& session) override;
  Result<std::string> create(const SessionKey& session, const SandboxSpec& spec) override;
  Result<> destroy(const Place& place) override;
  Result<std::string> fork(const Place& place) override;
  Result<ToolResult> call(const Place& place, const Tool& tool, const nlohmann::json& arguments,
                          const ToolRunnerOptions& options) override;
  Result<StoredOutput> output(const Place& place, const std::string& output_id) override;
  Result<std::string> read_file(const Place& place, const std::string& path,
                                std::size_t most) override;
  Result<std::vector<std::string>> names(const Place& place, const std::string& directory,
                                         std::size_t most) override;
  Result<std::string> diff(const Place& place, std::size_t most) override;

 private:
  Result<std::string> find_own(const SessionKey& session);
  // Makes a sandbox that goes on with the changes of the session's last one.
  Result<Bound> make(const SessionKey& session, const SandboxSpec& own);

  // Whether a call to this sandbox's init succeeded a moment ago.
  [[nodiscard]] bool has_just_answered(const std::string& sandbox) const;

  Guarded<std::map<std::string, Clock::time_point>> answered_;  // when each init did last
  std::mutex making_;  // held while a session's sandbox is looked up and made
  Runtime runtime_;
};

}  // namespace nutshell::mcp
