// Sandboxes in containers of Docker or podman, through the engine's own interface: no command line
// of theirs is run. Each container has our init as its first process.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "backends/docker/container_config.h"
#include "backends/docker/engine_client.h"
#include "backends/docker/engine_facts.h"
#include "backends/docker/image_source.h"
#include "backends/docker/init_volume.h"
#include "backends/docker/stream_bridges.h"
#include "core/backend.h"
#include "core/image_holder.h"
#include "wire/init_client.h"

namespace nutshell::docker {

constexpr char id_letter(EngineKind kind) {
  return kind == EngineKind::Docker ? 'd' : 'p';
}

class DockerBackend : public Backend, public TimeSetter, public ImageHolder {
 public:
  struct Options {
    EngineKind kind = EngineKind::Docker;
    std::filesystem::path programs;  // where our other programs are
    std::function<void(const std::string&)>
        show_progress;  // of what takes long; null: nobody looks
  };
  explicit DockerBackend(Options options)
      : kind_(options.kind),
        programs_(std::move(options.programs)),
        show_progress_(std::move(options.show_progress)) {}

  [[nodiscard]] std::string_view name() const override {
    return kind_ == EngineKind::Docker ? "docker" : "podman";
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
  void tidy() override;
  Gone why_gone(const std::string& id) override;
  SweepReport sweep(SweepMode mode) override;
  Result<std::optional<std::uint64_t>> image_bytes(const std::string& image) override;
  Result<> fetch_image(const std::string& image) override;
  Result<> remove_image(const std::string& image) override;

 private:
  struct Found {
    Remembered remembered;
    std::string state;  // "created", "running", "paused", "exited", …
    std::chrono::milliseconds made_at{};
  };

  // Not asked anything yet.
  Result<EngineClient*> chosen_engine();
  Result<EngineClient*> engine();
  // NotFound where nobody listens: no engine has no sandboxes.
  Result<EngineClient*> engine_with_sandboxes();
  [[nodiscard]] bool is_engine_absent() const;
  Result<const EngineFacts*> facts();
  Result<ImageFacts> image_for(const std::string& name);
  [[nodiscard]] PullVisitor progress_of(const std::string& name) const;
  Result<const InitVolume*> volume();
  Result<ContainerPlan> plan_for(const SandboxSpec& spec, const std::string& id);
  Result<> create(const ContainerPlan& plan, const std::string& id);
  Result<> bring_workspace(int stream, const std::string& directory) const;
  Result<> launch(const ContainerPlan& plan, const std::string& id, Lifetime lifetime);
  Result<UniqueFd> attach(const std::string& id, const std::string& orders);
  [[nodiscard]] std::string orders_for(const ContainerPlan& plan, Lifetime lifetime) const;
  Result<UniqueFd> open_bridge(const std::string& id);
  Result<UniqueFd> connect_directly(const std::string& id);
  Result<UniqueFd> connect_without_engine(const std::string& id);
  Result<int> process_of(const std::string& id);
  Result<std::vector<Found>> find_all();
  static void forget_ended(const std::vector<std::string>& kept, const std::vector<Found>& here);
  static bool is_among(const std::vector<std::string>& containers, const Found& one);
  Result<> try_sandbox();
  void sweep_containers(SweepMode mode, SweepReport& report);
  Result<> end_by_engine(const std::string& id);
  bool ends_by_itself(const std::string& id);
  bool kill_without_engine(const std::string& id);
  Result<> remove(const std::string& container, std::chrono::seconds time);
  std::vector<std::string> settle_removals();
  Result<> ask(const std::string& id, const char* action);
  Result<wire::InitClient> init_of(const std::string& id);
  Result<bool> freeze(const std::string& id);
  Result<> tell_time_left(const std::string& id, std::chrono::milliseconds left);
  Result<std::chrono::milliseconds> time_left(const std::string& id);

  EngineKind kind_;
  std::filesystem::path programs_;
  std::function<void(const std::string&)> show_progress_;
  std::optional<EngineClient> engine_;
  std::optional<EngineFacts> facts_;
  std::optional<InitVolume> volume_;
  bool is_volume_there_ = false;
  StreamBridges bridges_;
  struct FirstStream {
    UniqueFd stream;
    Lifetime lifetime;
  };
  std::map<std::string, FirstStream> first_;    // connections that came with the start, by sandbox
  std::map<std::string, UniqueFd> unreleased_;  // first connections that still end their sandboxes
  std::set<std::string> ending_by_themselves_;  // as soon as their caller hangs up
};

}  // namespace nutshell::docker
