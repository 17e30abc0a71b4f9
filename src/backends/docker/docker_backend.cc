#include "backends/docker/docker_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/docker/container/workspace_volume.h"
#include "backends/docker/engine/engine_json.h"
#include "backends/docker/engine/engine_stats.h"
#include "backends/docker/notes/owed_removals.h"
#include "backends/docker/notes/sandbox_notes.h"
#include "backends/docker/notes/unfinished_start.h"
#include "base/defer.h"
#include "containers/container_layout.h"
#include "containers/init_orders.h"
#include "containers/trial.h"
#include "core/sandbox_id.h"
#include "core/workspace_volume.h"
#include "http/message.h"
#include "wire/init_client.h"
#include "wire/start_report.h"

namespace nutshell::docker {
namespace {

using namespace std::chrono_literals;
using containers::milliseconds_now;

// The process that makes or ends a container has this long before a sweep does it.
constexpr auto kPatience = 60s;

// The engine can mount a directory of this machine only if it runs here.
Result<> check_directories(const EngineAddress& address, const SandboxSpec& spec) {
  TRY(containers::check_native_fields(spec));
  if (!spec.unsafe_mounts.empty() && !address.is_local()) {
    return failure(
        ErrorCode::Unsupported,
        fmt::format("engine {} is on another machine and cannot mount directories of this one: "
                    "use --workspace, which is copied, or 'nutshell cp'",
                    address.text()));
  }
  if (spec.workspace_mode == WorkspaceMode::Overlay && !spec.workspace.empty()) {
    return failure(ErrorCode::Unsupported,
                   "workspace mode overlay: a container may not stack layers; it takes a copy");
  }
  std::error_code ignored;
  const auto socket = std::filesystem::weakly_canonical(address.socket, ignored).native();
  for (const UnsafeMount& mount : spec.unsafe_mounts) {
    std::string source = std::filesystem::weakly_canonical(mount.source, ignored).native();
    if (source == socket || source == "/" || socket.starts_with(source + "/")) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("mount {}: it holds the engine's socket, through which a sandbox "
                                 "could control this machine",
                                 mount.source));
    }
  }
  return {};
}

// One container, for containers/ttl_clock.h.
class PausableContainer : public containers::PausableSandbox {
 public:
  PausableContainer(Engine& engine, ContainerStreams& streams, std::string id)
      : engine_(engine), streams_(streams), id_(std::move(id)) {}

  Result<> keep(const TtlClock& clock) override { return keep_clock(id_, clock); }
  Result<> tell_init(std::chrono::milliseconds left) override {
    return containers::tell_time_left(TRY(streams_.open(id_)), left);
  }
  // A plain user's engine without cgroups has no freezer: there init stops every process by signal.
  Result<KnownBy> freeze() override {
    auto frozen = ask("/pause");
    if (frozen) return KnownBy::Engine;
    const EngineFacts* facts = TRY(engine_.facts());
    if (!facts->is_rootless || facts->has_pids) return Failure(std::move(frozen).error());
    TRY(wire::InitClient(TRY(streams_.open(id_))).suspend());
    return KnownBy::RecordAlone;
  }
  Result<> thaw() override {
    const auto clock = kept_clock(id_);
    if (!clock || !clock->is_paused) return ask("/unpause");
    return wire::InitClient(TRY(streams_.open(id_))).resume();
  }

 private:
  Result<> ask(const char* action) {
    TRY(TRY(engine_.reach_if_present())
            ->call({.method = "POST", .path = container_path(id_, action)}));
    return {};
  }

  Engine& engine_;
  ContainerStreams& streams_;
  std::string id_;
};

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// An environment may hold secrets, so it is removed when a list shows that its sandbox has ended.
void forget_ended(const std::vector<std::string>& kept, const std::vector<FoundContainer>& here) {
  for (const std::string& id : kept) {
    const bool is_here = std::any_of(here.begin(), here.end(), [&id](const FoundContainer& one) {
      return one.remembered.id == id;
    });
    if (!is_here) forget_sandbox(id);
  }
}

}  // namespace

Result<const InitVolume*> DockerBackend::volume() {
  if (!volume_) volume_.emplace(TRY(InitVolume::find(programs_ / "nutshell-init")));
  return &*volume_;
}

Result<> DockerBackend::check_network(const EngineFacts& facts, const SandboxSpec& spec) {
  if (mode_of(spec.network) == NetworkMode::None) return {};
  if (engine_.check_direct_access() && !is_gvisor(facts, spec)) return {};
  return failure(
      ErrorCode::Unsupported,
      "network: of an engine's sandboxes only those that root starts on the engine's own "
      "machine have one in this version, and not with gVisor as the runtime. Leave the "
      "network out, or use another backend");
}

Result<Protections> DockerBackend::check(const SandboxSpec& spec) {
  const EngineFacts* facts = TRY(engine_.facts());
  TRY(check_volume(spec));
  TRY(check_spec_here(*facts, spec));
  TRY(check_network(*facts, spec));
  TRY(check_directories(TRY(engine_.reach())->address(), spec));
  if (!spec.image.empty()) TRY(check_image_name(spec.image));
  return protections_for(*facts, spec);
}

Result<ContainerPlan> DockerBackend::plan_for(const SandboxSpec& spec, const std::string& id) {
  if (spec.image.empty()) {
    return failure(ErrorCode::InvalidArgument,
                   "a container needs an image: --image debian:12, for example");
  }
  EngineClient& client = *TRY(engine_.reach());
  const EngineFacts& facts = *TRY(engine_.facts());
  ContainerPlan plan;
  plan.spec = spec;
  plan.image = TRY(images_.ensure(spec.image, account_for(spec)));
  plan.labels = to_labels({id, TRY(scope_of_this_user()), spec, milliseconds_now() + spec.ttl});
  plan.init_volume = TRY(volume())->name();
  plan.runtime = spec.runtime;
  plan.is_gvisor = is_gvisor(facts, spec);
  plan.has_seccomp = facts.has_seccomp;
  plan.kept = {facts.has_memory, facts.has_cpu, facts.has_pids};
  if (const std::string name = volume_of(spec); !name.empty()) {
    TRY(ensure_workspace_volume(client, name, plan.image.id));
    plan.workspace_volume = TRY(workspace_volume_name(name));
  }
  plan.engine = client.is_podman() ? EngineKind::Podman : EngineKind::Docker;
  return plan;
}

Result<std::string> DockerBackend::start(const SandboxSpec& spec, Lifetime lifetime) {
  TRY(check(spec));
  tidy();
  (void)removal_.settle();
  std::string id = new_sandbox_id(id_letter(engine_.kind()));
  const std::string address = TRY(engine_.reach())->address().text();
  const ContainerPlan plan = TRY(plan_for(spec, id));
  if (!is_volume_there_) TRY(TRY(volume())->ensure(*engine_.client(), plan.image.id));
  is_volume_there_ = true;
  const auto unfinished = TRY(UnfinishedStart::begin(address, container_name(id)));
  Defer removed([&] { (void)stop(id); });  // a failed removal is noted, and the next call does it
  auto launched = launch_with_init(plan, id, lifetime);
  if (!launched) return while_doing("start a container", std::move(launched).error());
  UniqueFd stream = std::move(*launched);
  if (lifetime == Lifetime::WithCaller) {
    removal_.note_ending_by_itself(id);
  } else {
    TRY(keep_environment(id, address, spec.environment));
    TRY(keep_clock(id, {milliseconds_now() + spec.ttl}));
  }
  if (lifetime == Lifetime::Kept) TRY(wire::release(stream.get(), Deadline::in(kAnswerTime)));
  first_.add(id, std::move(stream), lifetime);
  removed.release();
  return id;
}

// If the volume with init was emptied, the engine has removed the container that could not start:
// the volume is filled and the start repeated.
Result<UniqueFd> DockerBackend::launch_with_init(const ContainerPlan& plan, const std::string& id,
                                                 Lifetime lifetime) {
  auto launched = launch(plan, id, lifetime);
  if (launched || launched.error().code != ErrorCode::Expired) return launched;
  TRY(TRY(volume())->fill(*TRY(engine_.reach()), plan.image.id));
  return launch(plan, id, lifetime);
}

Result<> DockerBackend::create(const ContainerPlan& plan, const std::string& id) {
  const auto answer = TRY(TRY(engine_.reach())
                              ->call({.method = "POST",
                                      .path = "/containers/create?name=" + container_name(id),
                                      .body = create_body(plan),
                                      .time = kStartTime}));
  const Json made = TRY(parse_json(answer.body));
  const Json* warnings = member(made, "Warnings");
  if (warnings == nullptr || !warnings->is_array() || warnings->empty()) return {};
  // Docker drops a limit that its host cannot keep, and warns. We refuse such a container.
  return failure(ErrorCode::Unsupported,
                 fmt::format("the engine cannot keep a limit: {}", warnings->front().dump()));
}

std::string DockerBackend::orders_for(const ContainerPlan& plan, Lifetime lifetime) const {
  const EngineFacts& facts = *engine_.known_facts();
  const SandboxSpec& spec = plan.spec;
  auto orders = containers::orders_for(spec, lifetime, plan.image.environment);
  orders.base_follows = !spec.workspace.empty() && plan.workspace_volume.empty() ? 1 : 0;
  orders.has_own_kernel = plan.is_gvisor ? 1 : 0;
  if (!facts.has_memory || plan.is_gvisor) orders.watched_memory_bytes = spec.limits.memory_bytes;
  if (!facts.has_cpu) orders.watched_millicpus = spec.limits.millicpus;
  return wire::frame_orders(orders);
}

Result<UniqueFd> DockerBackend::launch(const ContainerPlan& plan, const std::string& id,
                                       Lifetime lifetime) {
  TRY(create(plan, id));
  UniqueFd stream = TRY(streams_.attach(id, orders_for(plan, lifetime)));
  const auto started =
      TRY(TRY(engine_.reach())
              ->call({.method = "POST", .path = container_path(id, "/start"), .time = kStartTime}));
  // 204: started; 304: already running. After any other answer the container may not run.
  if (started.status != 204 && started.status != 304)
    return failure(ErrorCode::Corrupt,
                   fmt::format("engine: {} is not an answer to a start", started.status));
  if (!plan.spec.workspace.empty() && plan.workspace_volume.empty())
    TRY(containers::bring_workspace(stream.get(), plan.spec.workspace, show_progress_));
  return stream;
}

Result<UniqueFd> DockerBackend::connect(const std::string& id) {
  if (const auto clock = kept_clock(id); clock && clock->is_paused)
    return containers::paused_failure(id);
  // The first connection of a sandbox that ends with its caller must not be replaced.
  if (!first_.is_owner(id)) {
    UniqueFd direct = TRY(streams_.open_directly(id));
    if (direct) {
      (void)first_.take(id);  // the faster one replaces it
      return direct;
    }
  }
  if (UniqueFd first = first_.take(id)) return first;
  return streams_.open_by_engine(id);
}

Result<LastingStream> DockerBackend::connect_for_program(const std::string& id) {
  UniqueFd stream = TRY(streams_.open_directly(id));
  if (stream) return LastingStream{std::move(stream)};
  return failure(ErrorCode::Unsupported,
                 fmt::format("the init of sandbox {} is reached only through its engine", id));
}

Result<> DockerBackend::release(const std::string& id) {
  wire::InitClient init(TRY(streams_.open(id)));
  TRY(init.call<wire::Done>(wire::Release{}));
  first_.release(id);
  return {};
}

Result<> DockerBackend::stop(const std::string& id) {
  first_.remove(id);
  tidy();
  return removal_.end(id);
}

Result<containers::TtlClock> DockerBackend::clock_of(const std::string& id) {
  if (auto clock = kept_clock(id)) return clock;
  for (const FoundContainer& one : TRY(find_all())) {
    if (one.remembered.id == id) return containers::TtlClock{one.remembered.expires_at};
  }
  return failure(ErrorCode::NotFound, "no sandbox " + id);
}

Result<> DockerBackend::set_time_left(const std::string& id, std::chrono::milliseconds left) {
  PausableContainer container(engine_, streams_, id);
  return containers::set_time_left(container, kept_clock(id).value_or(TtlClock{}), left);
}

Result<> DockerBackend::pause(const std::string& id) {
  PausableContainer container(engine_, streams_, id);
  return containers::pause(container, TRY(clock_of(id)));
}

Result<> DockerBackend::resume(const std::string& id) {
  PausableContainer container(engine_, streams_, id);
  return containers::resume(container, kept_clock(id).value_or(TtlClock{}));
}

Result<std::vector<std::string>> DockerBackend::environment_of(const std::string& id) {
  return kept_environment(id);
}

Result<> DockerBackend::fetch_image(const std::string& image, PullAccount account) {
  TRY(check_image_name(image));
  TRY(images_.ensure(image, account));
  return {};
}

Result<std::vector<FoundContainer>> DockerBackend::find_all() {
  return find_containers(*TRY(engine_.reach_if_present()), id_letter(engine_.kind()));
}

SandboxStatus DockerBackend::status_of(FoundContainer container, const EngineFacts& facts) const {
  const auto now = milliseconds_now();
  SandboxStatus status;
  status.id = container.remembered.id;
  status.spec = std::move(container.remembered.spec);
  const auto clock = kept_clock(status.id).value_or(TtlClock{container.remembered.expires_at});
  const bool is_paused = container.state == "paused" || clock.is_paused;
  status.state = is_paused ? SandboxState::Paused : SandboxState::Running;
  status.age = std::max(now - container.made_at, 0ms);
  status.time_left = clock.left_at(now);
  status.protections = protections_for(facts, status.spec);
  status.why_copied = is_volume(status.spec.workspace) ? "" : "a container may not stack layers";
  return status;
}

Result<std::vector<SandboxStatus>> DockerBackend::list() {
  std::vector<SandboxStatus> all;
  // The notes are read first: a container exists before its environment is noted.
  const auto reached = engine_.reach_if_present();
  if (!reached && reached.error().code == ErrorCode::NotFound) return all;
  if (!reached) return Failure(reached.error());  // asking again would wait a second time
  const auto kept = ids_with_environments((*reached)->address().text());
  auto found = find_all();
  if (!found && found.error().code == ErrorCode::NotFound) return all;
  std::vector<FoundContainer> here = TRY(std::move(found));
  forget_ended(kept, here);
  const auto owed = removal_.settle();
  for (FoundContainer& one : here) {
    if (one.is_alive() && !has(owed, one.name()))
      all.push_back(status_of(std::move(one), *TRY(engine_.facts())));
  }
  return all;
}

// one-shot: without it Docker measures twice, a second apart.
Result<SandboxStats> DockerBackend::stats(const std::string& id) {
  const auto answer =
      TRY(TRY(engine_.reach_if_present())
              ->call({.path = container_path(id, "/stats?stream=false&one-shot=true")}));
  return read_stats(TRY(parse_json(answer.body)), *TRY(engine_.facts()));
}

// The engine removes a container that has ended, but remembers its events for a while.
Gone DockerBackend::why_gone(const std::string& id) {
  Gone gone{Gone::Reason::Unknown, "the sandbox has ended"};
  EngineClient* client = engine_.client();
  if (client == nullptr) return gone;
  if (engine_.is_silent())
    return {Gone::Reason::CutOff, "the engine that carries the connection does not answer"};
  const Json filters = {{"container", {container_name(id)}}, {"event", {"oom"}}};
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(milliseconds_now()).count();
  const auto visit = [&gone](std::string_view line) -> Result<> {
    const auto event = parse_json(line);
    if (event && text_of(*event, "Action") == "oom")
      gone = {Gone::Reason::OutOfMemory, "the whole sandbox ran out of memory and has ended"};
    return {};
  };
  // Without an answer the reason stays unknown.
  (void)client->stream_lines(
      {.path = fmt::format("/events?since={}&until={}&filters={}", now - 3600, now + 1,
                           http::percent_encode(filters.dump())),
       .time = 5s},
      visit);
  return gone;
}

Result<> DockerBackend::try_any_image() {
  TRY(engine_.facts());
  const auto answer = TRY(TRY(engine_.reach())->call({.path = "/images/json"}));
  const Json images = TRY(parse_json(answer.body));
  if (!images.is_array() || images.empty()) {
    return failure(ErrorCode::NotFound,
                   "the engine has no image to try a sandbox with: pull any image");
  }
  SandboxSpec spec;
  spec.image = text_of(images.front(), "Id");
  return containers::try_sandbox(*this, spec);
}

Protections DockerBackend::probe() {
  const auto tried = try_any_image();
  const EngineFacts* facts = engine_.known_facts();
  Protections protections;
  if (facts != nullptr) protections = protections_for(*facts, SandboxSpec{});
  protections.push_back(containers::trial_row(tried, facts != nullptr ? facts->name : ""));
  return protections;
}

void DockerBackend::sweep_containers(SweepMode mode, SweepReport& report) {
  const auto found = find_all();
  if (!found) return;
  const auto now = milliseconds_now();
  const std::string address = engine_.client()->address().text();
  auto owed = owed_removals(address);
  for (std::string& container : abandoned_starts(address))
    owed.push_back(std::move(container));
  for (const FoundContainer& one : *found) {
    const auto clock = kept_clock(one.remembered.id);
    const auto end = clock ? clock->expires_at : one.remembered.expires_at;
    if (!has(owed, one.name()) && now < (one.is_alive() ? end : one.made_at) + kPatience) continue;
    const bool is_removed = mode == SweepMode::DryRun || stop(one.remembered.id);
    (is_removed ? report.removed : report.failed).push_back("container " + one.name());
  }
}

SweepReport DockerBackend::sweep(SweepMode mode) {
  SweepReport report;
  sweep_sandbox_notes(mode, report);
  sweep_owed_removals(mode, report);
  const auto reached = engine_.reach_if_present();
  if (!reached) return report;
  sweep_containers(mode, report);
  if (mode == SweepMode::Remove) (void)removal_.settle();
  if (const auto current = volume()) (*current)->sweep_others(**reached, mode, report);
  return report;
}

}  // namespace nutshell::docker
