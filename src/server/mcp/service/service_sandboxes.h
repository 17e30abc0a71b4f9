// The sandboxes of the daemon's callers, through the service. A client's session is a session of
// the service: it has a lease, survives a restart, and counts against its tenant's quota.
// Thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "server/mcp/sandbox/sandboxes.h"
#include "service/service.h"

namespace nutshell::mcp {

struct ServiceSandboxesOptions {
  std::string tool_prefix;  // the clients' names of tools have it, the service's do not
  std::chrono::milliseconds lease{86'400'000};
};

class ServiceSandboxes : public Sandboxes {
 public:
  ServiceSandboxes(service::Service& service, ServiceSandboxesOptions options)
      : service_(service), options_(std::move(options)) {}

  // Returns the owner for this caller: one for each token, certificate or user.
  std::string admit(service::Caller caller);
  // The revision that a client agreed on before the daemon started; nullopt if unknown.
  std::optional<std::string> revision_of(const SessionKey& session);

  Result<Bound> ensure(const SessionKey& session, const SandboxSpec& spec) override;
  Result<std::string> find(const SessionKey& session) override;
  [[nodiscard]] std::chrono::milliseconds ensured_for() const override;
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
  [[nodiscard]] bool has_record() const override { return true; }
  Result<std::string> record(const Place& place, std::size_t most) override;

 private:
  Result<service::Caller> caller_of(const std::string& owner);
  Result<service::Caller> maker_for(const std::string& owner);
  Result<wire::InitClient> connect(const Place& place);

  service::Service& service_;
  ServiceSandboxesOptions options_;
  // Never shrinks: there are only as many as tokens, certificates and users.
  Guarded<std::map<std::string, service::Caller>> callers_;
};

}  // namespace nutshell::mcp
