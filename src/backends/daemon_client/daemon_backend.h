// Sandboxes of a daemon, of whatever backend it has them. The stream to an init goes through the
// daemon, which counts and writes down what runs. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api_client/api_client.h"
#include "core/backend.h"
#include "core/daemon_access.h"

namespace nutshell::daemon_backend {

class DaemonBackend : public Backend, public LayerStacker, public Forker {
 public:
  explicit DaemonBackend(DaemonAccess access) : client_(std::move(access)) {}

  [[nodiscard]] std::string_view name() const override { return "daemon"; }
  Protections probe() override;
  Result<Protections> check(const SandboxSpec& spec) override;
  Result<std::string> start(const SandboxSpec& spec, Lifetime lifetime) override;
  Result<> release(const std::string& id) override;
  Result<std::string> fork(const std::string& id) override;
  Result<UniqueFd> connect(const std::string& id) override;
  Result<> stop(const std::string& id) override;
  Result<std::vector<SandboxStatus>> list() override;
  Result<std::vector<std::string>> environment_of(const std::string& id) override;
  Result<SandboxStats> stats(const std::string& id) override;
  Result<> pause(const std::string& id) override;
  Result<> resume(const std::string& id) override;
  Result<> restack(const std::string& id, const std::vector<std::string>& layers) override;
  Gone why_gone(const std::string& id) override;
  SweepReport sweep(SweepMode mode) override;
  LayerStacker* layer_stacker() override { return this; }
  Forker* forker() override { return this; }

 private:
  struct Stream {
    UniqueFd socket;
    std::string sandbox;
  };
  Result<Stream> open(const std::string& target, const std::string& body = {});

  api::ApiClient client_;
  // A sandbox that ends with this process: the daemon ends it with its connection, which is also
  // its first stream.
  struct TemporarySandbox {
    UniqueFd life;
    bool is_taken = false;
  };
  std::map<std::string, TemporarySandbox> temporary_;
};

std::unique_ptr<Backend> make_daemon_backend(DaemonAccess access);

}  // namespace nutshell::daemon_backend
