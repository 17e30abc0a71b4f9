#include "backends/docker/docker_backend.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "backends/docker/engine_json.h"
#include "backends/docker/image_source.h"
#include "backends/docker/image_transfer.h"
#include "backends/docker/kept_clock.h"
#include "backends/docker/kept_environment.h"
#include "backends/docker/kept_place.h"
#include "backends/docker/owed_removals.h"
#include "backends/docker/unfinished_start.h"
#include "backends/docker/workspace_volume.h"
#include "base/defer.h"
#include "core/sandbox_id.h"
#include "core/workspace_volume.h"
#include "wire/codec.h"
#include "wire/orders.h"
#include "wire/start_report.h"
#include "wire/tree_stream.h"

namespace nutshell::docker {
namespace {

// An engine that is asked to end a container answers a ping within the first, and has ended it
// within the second; else it does so later, and is not waited for.
constexpr std::chrono::seconds kPingTime{4};
constexpr std::chrono::seconds kStopTime{20};

// A name that is NAME=VALUE counts once, the last one.
void add_variable(std::vector<std::string>& environment, const std::string& variable) {
  const std::size_t equals = variable.find('=');
  if (equals == 0 || equals == std::string::npos || variable.find('\0') != std::string::npos)
    return;
  const std::string_view name = std::string_view(variable).substr(0, equals + 1);
  std::erase_if(environment, [name](const std::string& known) { return known.starts_with(name); });
  environment.push_back(variable);
}

std::vector<std::string> environment_for(const ContainerPlan& plan) {
  std::vector<std::string> environment = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
      "SHELL=/bin/sh"};
  for (const std::string& variable : plan.image.environment)
    add_variable(environment, variable);
  for (const char* variable : {"HOME=/workspace", "USER=sandbox", "LOGNAME=sandbox"})
    add_variable(environment, variable);
  for (const std::string& variable : plan.spec.environment)
    add_variable(environment, variable);
  return environment;
}

// The engine can mount a directory of this machine only if it runs here.
Result<> check_directories(const EngineAddress& address, const SandboxSpec& spec) {
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
                     fmt::format("mount {}: the engine's socket is in it, and whoever has that has "
                                 "the machine",
                                 mount.source));
    }
  }
  return {};
}

std::string path_of(const std::string& id, std::string_view rest) {
  return fmt::format("/containers/{}{}", container_name(id), rest);
}

}  // namespace

Result<EngineClient*> DockerBackend::chosen_engine() {
  if (!engine_) {
    engine_.emplace(TRY(kind_ == EngineKind::Docker ? find_docker(variable_of_process)
                                                    : find_podman(variable_of_process)));
  }
  return &*engine_;
}

Result<EngineClient*> DockerBackend::engine() {
  TRY(TRY(chosen_engine())->version());
  return &*engine_;
}

Result<const EngineFacts*> DockerBackend::facts() {
  if (!facts_) facts_ = TRY(read_engine_facts(*TRY(engine())));
  return &*facts_;
}

Result<const InitVolume*> DockerBackend::volume() {
  if (!volume_) volume_.emplace(TRY(InitVolume::find(programs_ / "nutshell-init")));
  return &*volume_;
}

Result<Protections> DockerBackend::check(const SandboxSpec& spec) {
  const EngineFacts* facts = TRY(this->facts());
  TRY(check_volume(spec));
  TRY(check_spec_here(*facts, spec));
  TRY(check_directories(engine_->address(), spec));
  if (!spec.image.empty()) TRY(check_image_name(spec.image));
  return protections_for(*facts, spec);
}

PullVisitor DockerBackend::progress_of(const std::string& name) const {
  if (!show_progress_) return nullptr;
  return [this, name](const PullProgress& progress) {
    constexpr double kMegabyte = 1e6;
    show_progress_(fmt::format("pulling {}: {} of {} layers, {:.1f} of {:.1f} MB", name,
                               progress.layers_done, progress.layers,
                               static_cast<double>(progress.bytes) / kMegabyte,
                               static_cast<double>(progress.bytes_total) / kMegabyte));
  };
}

Result<ImageFacts> DockerBackend::image_for(const std::string& name) {
  auto found = inspect_image(*engine_, name);
  if (found || found.error().code != ErrorCode::NotFound) return found;
  auto stored = load_stored_image(*engine_, name, show_progress_);
  if (stored || stored.error().code != ErrorCode::NotFound) return stored;
  const std::string login = TRY(registry_login(name, variable_of_process));
  auto pulled = pull_image(*engine_, name, login, progress_of(name));
  if (show_progress_) show_progress_("");
  TRY(pulled);
  return inspect_image(*engine_, name);
}

Result<ContainerPlan> DockerBackend::plan_for(const SandboxSpec& spec, const std::string& id) {
  if (spec.image.empty()) {
    return failure(ErrorCode::InvalidArgument,
                   "a container needs an image: --image debian:12, say");
  }
  ContainerPlan plan;
  plan.spec = spec;
  plan.image = TRY(image_for(spec.image));
  plan.labels = to_labels({id, TRY(scope_of_this_user()), spec, milliseconds_now() + spec.ttl});
  plan.init_volume = TRY(volume())->name();
  plan.runtime = spec.runtime;
  plan.is_gvisor = is_gvisor(*facts_, spec);
  plan.kept = {facts_->has_memory, facts_->has_cpu, facts_->has_pids};
  if (const std::string name = volume_of(spec); !name.empty()) {
    TRY(ensure_workspace_volume(*engine_, name, plan.image.id));
    plan.workspace_volume = TRY(workspace_volume_name(name));
  }
  plan.engine = engine_->is_podman() ? EngineKind::Podman : EngineKind::Docker;
  return plan;
}

Result<std::string> DockerBackend::start(const SandboxSpec& spec, Lifetime lifetime) {
  TRY(check(spec));
  tidy();
  (void)settle_removals();
  std::string id = new_sandbox_id(id_letter(kind_));
  const ContainerPlan plan = TRY(plan_for(spec, id));
  if (!is_volume_there_) TRY(volume_->ensure(*engine_, plan.image.id));
  is_volume_there_ = true;
  const auto unfinished =
      TRY(UnfinishedStart::begin(engine_->address().text(), container_name(id)));
  Defer removed([&] { (void)stop(id); });  // what stays is owed, and goes with the next call
  auto launched = launch(plan, id, lifetime);
  if (!launched && launched.error().code == ErrorCode::Expired) {
    // Somebody emptied our volume; the engine has removed the container that could not start.
    TRY(volume_->fill(*engine_, plan.image.id));
    launched = launch(plan, id, lifetime);
  }
  if (!launched) return while_doing("start a container", std::move(launched).error());
  if (lifetime != Lifetime::WithCaller) {
    TRY(keep_environment(id, {engine_->address().text(), spec.environment}));
    TRY(keep_clock(id, {milliseconds_now() + spec.ttl, std::chrono::milliseconds(-1)}));
  }
  if (lifetime == Lifetime::Kept)
    TRY(wire::release(first_.at(id).stream.get(), Deadline::in(kAnswerTime)));
  removed.release();
  return id;
}

Result<> DockerBackend::create(const ContainerPlan& plan, const std::string& id) {
  const auto answer = TRY(engine_->call({.method = "POST",
                                         .path = "/containers/create?name=" + container_name(id),
                                         .body = create_body(plan),
                                         .time = kStartTime}));
  const Json made = TRY(parse_json(answer.body));
  const Json* warnings = member(made, "Warnings");
  if (warnings == nullptr || !warnings->is_array() || warnings->empty()) return {};
  // Docker drops a limit that its host cannot keep, and says so here. Nobody asked for less.
  (void)stop(id);
  return failure(ErrorCode::Unsupported,
                 fmt::format("the engine cannot keep a limit: {}", warnings->front().dump()));
}

std::string DockerBackend::orders_for(const ContainerPlan& plan, Lifetime lifetime) const {
  const SandboxSpec& spec = plan.spec;
  wire::ContainerOrders orders;
  orders.ttl_ms = static_cast<std::uint64_t>(spec.ttl.count());
  orders.idle_ms = static_cast<std::uint64_t>(spec.idle_timeout.count());
  orders.environment = environment_for(plan);
  orders.working_directory = spec.working_directory;
  orders.open_files = spec.limits.open_files;
  orders.store = kStoreDirectory;
  orders.base_follows = !spec.workspace.empty() && plan.workspace_volume.empty() ? 1 : 0;
  orders.ends_with_connection = lifetime == Lifetime::Kept ? 0 : 1;
  orders.awaits_release = lifetime == Lifetime::Kept ? 1 : 0;
  orders.has_own_kernel = plan.is_gvisor ? 1 : 0;
  if (!facts_->has_memory || plan.is_gvisor) orders.watched_memory_bytes = spec.limits.memory_bytes;
  if (!facts_->has_cpu) orders.watched_millicpus = spec.limits.millicpus;
  return wire::frame_orders(orders);
}

// The first connection is the container's own standard input and output: it needs no process more,
// and is there the moment init is.
Result<UniqueFd> DockerBackend::attach(const std::string& id, const std::string& orders) {
  auto upgraded = TRY(engine_->hijack(
      {.method = "POST", .path = path_of(id, "/attach?stream=1&stdin=1&stdout=1&stderr=1")}));
  TRY(upgraded.transport->write(orders, Deadline::in(kAnswerTime)));
  return bridges_.add(std::move(upgraded));
}

// The content of a directory may not fit.
Result<> DockerBackend::bring_workspace(int stream, const std::string& directory) const {
  const auto special = TRY(wire::bring_directory(stream, directory, Deadline::in(wire::kCopyTime)));
  if (special.count > 0 && show_progress_) show_progress_(special.text(directory) + '\n');
  return {};
}

Result<> DockerBackend::launch(const ContainerPlan& plan, const std::string& id,
                               Lifetime lifetime) {
  TRY(create(plan, id));
  UniqueFd stream = TRY(attach(id, orders_for(plan, lifetime)));
  const auto started =
      TRY(engine_->call({.method = "POST", .path = path_of(id, "/start"), .time = kStartTime}));
  // Started, or already so. Taken for a success, another answer would leave what nobody lists.
  if (started.status != 204 && started.status != 304)
    return failure(ErrorCode::Corrupt,
                   fmt::format("engine: {} is no answer to a start", started.status));
  if (!plan.spec.workspace.empty() && plan.workspace_volume.empty())
    TRY(bring_workspace(stream.get(), plan.spec.workspace));
  if (lifetime == Lifetime::WithCallerUntilReleased) {
    unreleased_.insert_or_assign(id, std::move(stream));
    return {};
  }
  first_.insert_or_assign(id, FirstStream{std::move(stream), lifetime});
  if (lifetime == Lifetime::WithCaller) ending_by_themselves_.insert(id);
  return {};
}

bool DockerBackend::is_engine_absent() const {
  return engine_ && engine_->address().is_local() &&
         ::access(engine_->address().socket.c_str(), W_OK) != 0;
}

Result<EngineClient*> DockerBackend::engine_with_sandboxes() {
  auto found = engine();
  if (!found && is_engine_absent())
    return failure(ErrorCode::NotFound, "no engine, and so no sandbox");
  return found;
}

Result<> DockerBackend::stop(const std::string& id) {
  const std::string container = container_name(id);
  first_.erase(id);
  unreleased_.erase(id);
  tidy();
  auto ended = end_by_engine(id);
  const bool is_absent = !ended && ended.error().code == ErrorCode::NotFound;
  if (ended) {
    forget_removal(container);
  } else if (engine_) {
    // Written down before anything else is waited for. Where that cannot be, it is found by its
    // label and swept.
    (void)owe_removal(engine_->address().text(), container);
  }
  // A container runs on without its engine (podman), or while that hangs.
  const bool is_killed = !ended && kill_without_engine(id);
  forget_environment(id);
  forget_clock(id);
  forget_place(id);
  if (ended || is_absent || is_killed) return {};
  return while_doing(
      fmt::format("sandbox {} is removed by the next call that reaches its engine", id),
      std::move(ended).error());
}

// NotFound: there is no engine.
Result<> DockerBackend::end_by_engine(const std::string& id) {
  if (ending_by_themselves_.erase(id) > 0 && ends_by_itself(id)) return {};
  // Pinged also where it has answered before: one that hangs is not waited for any longer.
  auto answered = TRY(chosen_engine())->ping(kPingTime);
  if (!answered && is_engine_absent()) return failure(ErrorCode::NotFound, "no engine");
  TRY(std::move(answered));
  return remove(container_name(id), kStopTime);
}

// Init takes all processes of the sandbox along. Its container is removed by the engine once that
// sees it.
bool DockerBackend::kill_without_engine(const std::string& id) {
  if (!engine_ || !engine_->address().is_local() || ::geteuid() != 0) return false;
  const std::string address = engine_->address().text();
  const auto number = kept_process(id, address);
  if (!number) return false;
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, *number, 0)));
  // The number may have changed hands before it was opened.
  if (!process || !kept_process(id, address)) return false;
  return ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0;
}

// Those that were owed, removed or not: one that cannot be removed now is owed on.
std::vector<std::string> DockerBackend::settle_removals() {
  auto owed = owed_removals(engine_->address().text());
  for (const std::string& container : abandoned_starts(engine_->address().text())) {
    if (!remove(container, kAnswerTime)) continue;  // another call tries again
    settle_abandoned_start(container);
  }
  for (const std::string& container : owed) {
    const auto removed = remove(container, kAnswerTime);
    if (removed) forget_removal(container);
    // Whoever is behind this does not wait for each of them.
    if (!removed && removed.error().code == ErrorCode::DeadlineExceeded) break;
  }
  return owed;
}

// Without its stream, init ends at once and the engine removes the container: to wait for that
// takes half the time of a kill, for which Docker runs a program. Podman looks only now and then.
bool DockerBackend::ends_by_itself(const std::string& id) {
  constexpr std::chrono::seconds kEndTime{2};  // what has not ended by then is ended
  if (engine_->is_podman()) return false;
  const auto waited = engine_->call(
      {.method = "POST", .path = path_of(id, "/wait?condition=removed"), .time = kEndTime});
  if (!waited) return waited.error().code == ErrorCode::NotFound;
  // It also answers, with the reason, when it cannot remove it.
  const auto told = parse_json(waited->body);
  const Json* error = told ? member(*told, "Error") : nullptr;
  return error == nullptr || error->is_null();
}

// One that is ending is removed by the engine itself at the same moment. Each of the two may find
// the other at it and give up: then it is asked once more.
Result<> DockerBackend::remove(const std::string& container, std::chrono::seconds time) {
  constexpr std::chrono::milliseconds kBetween{50};
  const Deadline deadline = Deadline::in(kAnswerTime);
  for (;;) {
    auto removed = engine_->call(
        {.method = "DELETE",
         .path = fmt::format("/containers/{}?force=1&v=1", http::percent_encode(container)),
         .time = time});
    if (removed || removed.error().code == ErrorCode::NotFound) return {};
    const bool is_conflict = removed.error().code == ErrorCode::Conflict;
    if (!is_conflict || deadline.has_passed()) return Failure(std::move(removed).error());
    std::this_thread::sleep_for(kBetween);
  }
}

Result<> DockerBackend::ask(const std::string& id, const char* action) {
  TRY(engine_with_sandboxes());
  TRY(engine_->call({.method = "POST", .path = path_of(id, action)}));
  return {};
}

Result<std::vector<std::string>> DockerBackend::environment_of(const std::string& id) {
  return kept_environment(id);
}

}  // namespace nutshell::docker
