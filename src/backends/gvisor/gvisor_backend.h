// Sandboxes in gVisor, which gives each a kernel of its own in a process of the host. This backend
// runs gVisor's program runsc directly, without a container engine, as root or not. Our init is the
// first process inside.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/gvisor/bundle.h"
#include "backends/gvisor/host_facts.h"
#include "backends/gvisor/oci_config.h"
#include "backends/gvisor/runsc.h"
#include "containers/first_streams.h"
#include "core/backend.h"
#include "core/stream_carrier.h"
#include "wire/orders.h"

namespace nutshell::gvisor {

class GvisorBackend : public Backend, public TimeSetter, public StreamCarrier {
 public:
  // `programs` is the directory of our other programs; `show_progress` is as in BackendContext.
  explicit GvisorBackend(std::filesystem::path programs,
                         std::function<void(const std::string&)> show_progress = nullptr)
      : programs_(std::move(programs)),
        show_progress_(std::move(show_progress)),
        facts_(read_host_facts()) {}
  GvisorBackend(GvisorBackend&&) = delete;
  GvisorBackend& operator=(GvisorBackend&&) = delete;
  ~GvisorBackend() override;

  [[nodiscard]] std::string_view name() const override { return "gvisor"; }
  Protections probe() override;
  Result<Protections> check(const SandboxSpec& spec) override;
  Result<std::string> start(const SandboxSpec& spec, Lifetime lifetime) override;
  Result<> release(const std::string& id) override;
  Result<UniqueFd> connect(const std::string& id) override;
  [[nodiscard]] bool is_connecting_costly() const override { return true; }
  Result<> stop(const std::string& id) override;
  Result<std::vector<SandboxStatus>> list() override;
  Result<std::vector<std::string>> environment_of(const std::string& id) override;
  Result<SandboxStats> stats(const std::string& id) override;
  Result<> set_time_left(const std::string& id, std::chrono::milliseconds left) override;
  TimeSetter* time_setter() override { return this; }
  Result<> pause(const std::string& id) override;
  Result<> resume(const std::string& id) override;
  void tidy() override;
  Gone why_gone(const std::string& id) override;
  SweepReport sweep(SweepMode mode) override;
  StreamCarrier* stream_carrier() override { return this; }
  bool is_silent() override { return false; }
  Result<LastingStream> connect_for_program(const std::string& id) override;

 private:
  struct Started {
    UniqueFd stream;
    std::uint32_t process = 0;
  };

  Result<const Runsc*> runsc();
  // Puts our flags before a command of runsc and its arguments.
  Result<std::vector<std::string>> words(std::vector<std::string> command) const;
  Result<> prepare(const Bundle& bundle, const SandboxSpec& spec, const std::string& image) const;
  Result<Started> launch(const Bundle& bundle, const SandboxSpec& spec);
  [[nodiscard]] wire::ContainerOrders orders_for(
      const SandboxSpec& spec, Lifetime lifetime,
      const std::vector<std::string>& image_environment) const;
  Result<UniqueFd> open_bridge(const std::string& id, std::vector<ChildProcess>& bridges);
  class PausableBundle;

  std::filesystem::path programs_;
  std::function<void(const std::string&)> show_progress_;
  HostFacts facts_;
  std::optional<Runsc> runsc_;
  std::map<std::string, Bundle> own_;  // locked bundles of sandboxes that end with this object
  containers::FirstStreams first_;
  // Each `runsc exec` carries a later connection. Those of other programs outlive this object.
  std::vector<ChildProcess> bridges_;
  std::vector<ChildProcess> lasting_bridges_;
};

}  // namespace nutshell::gvisor
