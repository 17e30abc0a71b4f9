// Sandboxes in containers of Docker or podman, driven through the engine's API without running its
// command line. The first process of each container is our init.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/docker/container/container_config.h"
#include "backends/docker/container/container_list.h"
#include "backends/docker/container/container_removal.h"
#include "backends/docker/container/container_streams.h"
#include "backends/docker/container/init_volume.h"
#include "backends/docker/engine/engine.h"
#include "backends/docker/images/engine_images.h"
#include "containers/first_streams.h"
#include "containers/ttl_clock.h"
#include "core/backend.h"
#include "core/image_holder.h"
#include "core/stream_carrier.h"

namespace nutshell::docker {

constexpr char id_letter(EngineKind kind) {
  return kind == EngineKind::Docker ? 'd' : 'p';
}

class DockerBackend : public Backend, public TimeSetter, public ImageHolder, public StreamCarrier {
 public:
  struct Options {
    EngineKind kind = EngineKind::Docker;
    std::filesystem::path programs;  // the directory of our other programs
    // Receives lines of progress of slow steps; may be null.
    std::function<void(const std::string&)> show_progress;
  };
  explicit DockerBackend(Options options)
      : engine_(options.kind),
        programs_(std::move(options.programs)),
        show_progress_(std::move(options.show_progress)) {}

  [[nodiscard]] std::string_view name() const override {
    return engine_.kind() == EngineKind::Docker ? "docker" : "podman";
  }
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
  Result<> pause(const std::string& id) override;
  Result<> resume(const std::string& id) override;
  Result<> set_time_left(const std::string& id, std::chrono::milliseconds left) override;
  TimeSetter* time_setter() override { return this; }
  ImageHolder* image_holder() override { return this; }
  StreamCarrier* stream_carrier() override { return this; }
  void tidy() override { first_.tidy(); }
  Gone why_gone(const std::string& id) override;
  SweepReport sweep(SweepMode mode) override;
  bool is_silent() override { return engine_.is_silent(); }
  Result<LastingStream> connect_for_program(const std::string& id) override;
  Result<std::optional<std::uint64_t>> image_bytes(const std::string& image) override {
    return images_.bytes(image);
  }
  Result<> fetch_image(const std::string& image, PullAccount account) override;
  Result<> remove_image(const std::string& image) override { return images_.remove(image); }

 private:
  // A connection through an engine ends with its caller, and some engines do not tell its end.
  Result<> check_network(const EngineFacts& facts, const SandboxSpec& spec);
  Result<const InitVolume*> volume();
  Result<ContainerPlan> plan_for(const SandboxSpec& spec, const std::string& id);
  Result<> create(const ContainerPlan& plan, const std::string& id);
  // Returns the first connection.
  Result<UniqueFd> launch(const ContainerPlan& plan, const std::string& id, Lifetime lifetime);
  Result<UniqueFd> launch_with_init(const ContainerPlan& plan, const std::string& id,
                                    Lifetime lifetime);
  [[nodiscard]] std::string orders_for(const ContainerPlan& plan, Lifetime lifetime) const;
  Result<std::vector<FoundContainer>> find_all();
  SandboxStatus status_of(FoundContainer container, const EngineFacts& facts) const;
  Result<> try_any_image();
  void sweep_containers(SweepMode mode, SweepReport& report);
  Result<containers::TtlClock> clock_of(const std::string& id);

  Engine engine_;
  std::filesystem::path programs_;
  std::function<void(const std::string&)> show_progress_;
  EngineImages images_{engine_, show_progress_};
  ContainerStreams streams_{engine_};
  ContainerRemoval removal_{engine_};
  std::optional<InitVolume> volume_;
  bool is_volume_there_ = false;
  containers::FirstStreams first_;
};

}  // namespace nutshell::docker
