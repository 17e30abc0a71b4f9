#include "backends/native/native_backend.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "backends/native/cgroups/cgroup_places.h"
#include "backends/native/cgroups/cgroup_sweep.h"
#include "backends/native/files/root_template.h"
#include "backends/native/files/rootfs.h"
#include "backends/native/files/special_files.h"
#include "backends/native/filters/rlimits.h"
#include "backends/native/launcher/circumstances.h"
#include "backends/native/processes/process_tree.h"
#include "backends/native/start/host_trials.h"
#include "base/byte_size.h"
#include "core/sandbox_id.h"
#include "core/workspace_volume.h"
#include "images/image_root.h"
#include "saved/restore_caches.h"
#include "wire/init_client.h"

namespace nutshell::native {
namespace {

constexpr auto kRestackTime = std::chrono::seconds(10);
constexpr auto kOneShotPatience = std::chrono::seconds(2);
constexpr auto kSavingPatience = std::chrono::seconds(60);
constexpr auto kBetweenLooks = std::chrono::milliseconds(5);
constexpr const char* kOutOfMemory = "the whole sandbox ran out of memory and has ended";
constexpr const char* kEnded = "the sandbox has ended";

// How long a launcher stays after its last sandbox, so that the next one starts sooner.
Result<std::uint64_t> launcher_linger() {
  constexpr const char* kName = "NUTSHELL_LAUNCHER_LINGER";
  constexpr std::chrono::milliseconds kUsual{30'000};
  const char* text = std::getenv(kName);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  auto wanted = text != nullptr && *text != '\0' ? parse_duration(text)
                                                 : Result<std::chrono::milliseconds>(kUsual);
  if (!wanted) return while_doing(kName, std::move(wanted).error());
  return static_cast<std::uint64_t>(wanted->count());
}

// Takes both locks: then no launcher lives, and no client starts one meanwhile.
void sweep_socket(const RuntimeDirectory& directory, SweepMode mode, SweepReport& report) {
  const auto lock = LauncherLock::take(directory);
  if (!lock || !std::filesystem::exists(directory.socket())) return;
  const auto life = InstanceLock::borrow(directory);
  if (!life) return;
  if (mode == SweepMode::Remove) ::unlink(directory.socket().c_str());
  report.removed.push_back(
      fmt::format("socket of a dead launcher {}", directory.socket().native()));
}

}  // namespace

NativeBackend::~NativeBackend() {
  for (auto& [id, sandbox] : own_)
    (void)starter_->finish(std::move(sandbox));
}

const Abilities& NativeBackend::abilities() {
  if (starter_) return starter_->abilities();
  if (!abilities_) abilities_.emplace(Abilities::find());
  return *abilities_;
}

Protections NativeBackend::probe() {
  return try_on_this_host(entry_);
}

Result<Protections> NativeBackend::check(const SandboxSpec& spec) {
  if (!spec.runtime.empty()) {
    return failure(ErrorCode::Unsupported,
                   "--runtime is for containers: add --backend docker, or use --backend gvisor in "
                   "place of --runtime runsc");
  }
  if (is_volume(spec.workspace)) {
    return failure(
        ErrorCode::Unsupported,
        fmt::format("workspace {}: native sandboxes have no volumes. Use --backend docker or "
                    "podman, or a session of a daemon, which keeps its files",
                    spec.workspace));
  }
  return check_start(abilities(), spec);
}

Result<std::string> NativeBackend::start(const SandboxSpec& spec, Lifetime lifetime) {
  // Only a launcher saves caches.
  const bool keeps_caches = spec.keep_caches == KeepCaches::Yes;
  const bool is_ours = lifetime == Lifetime::WithCaller && !keeps_caches;
  if (is_ours) {
    if (auto id = start_one_shot(spec)) return id;
  }
  if (is_ours && !starter_) {
    starter_.emplace(TRY(Starter::create(entry_, Pooling::Off)));
    // If this fails, for example on a full disk, only a sweep from this cgroup finds the groups.
    if (const auto directory = RuntimeDirectory::open())
      (void)record_cgroup_places(*directory, starter_->abilities().cgroups);
  }
  TRY(check(spec));
  SandboxSpec resolved = spec;
  images::ImageRoot image =
      TRY(images::root_of(spec.image, spec.image_naming, programs_ / "nutshell-unpack"));
  resolved.image = std::move(image.directory);
  // The image's variables come first, because the last one of a name counts.
  resolved.environment.insert(resolved.environment.begin(), image.environment.begin(),
                              image.environment.end());
  if (!resolved.image.empty()) TRY(check_image(resolved.image));
  std::string id = TRY(is_ours        ? start_here(resolved)
                       : keeps_caches ? start_with_caches(resolved, lifetime)
                                      : start_kept(resolved, lifetime));
  name_special_files(spec.workspace);  // while the new sandbox mounts its files
  return id;
}

void NativeBackend::name_special_files(const std::string& workspace) const {
  if (workspace.empty() || !show_progress_) return;
  const wire::SpecialFiles special = find_special_files(workspace);
  if (special.count > 0) show_progress_(special.text(workspace) + '\n');
}

// Asks a launcher that happens to be alive: it has a sandbox ready. Whatever it refuses, or does
// not answer in time, this process does itself.
Result<std::string> NativeBackend::start_one_shot(const SandboxSpec& spec) {
  if (!is_without_directories(spec) || !spec.image.empty() || !spec.runtime.empty())
    return failure(ErrorCode::Unsupported, "a sandbox that no launcher has ready");
  LauncherClient launcher = TRY(LauncherClient::connect_if_alive(TRY(RuntimeDirectory::open())));
  LauncherRequest request;
  request.operation = Operation::Start;
  request.is_one_shot = 1;
  request.spec = spec;
  request.spec.is_for_one_command = true;
  request.circumstances = TRY(own_circumstances());
  request.program = TRY(identity_of(programs_ / "nutshell-launcher"));
  request.linger_ms = TRY(launcher_linger());
  auto answer = TRY(launcher.ask(request, kOneShotPatience));
  if (answer.descriptors.size() != 1)
    return failure(ErrorCode::Internal, "the launcher sent no stream");
  std::string id = std::move(answer.reply.id);
  one_shots_.emplace(id, OneShot{std::move(launcher), std::move(answer.descriptors.front())});
  return id;
}

Result<std::string> NativeBackend::start_here(const SandboxSpec& spec) {
  std::string id = new_sandbox_id(kIdLetter);
  own_.emplace(id, TRY(starter_->start(spec)));
  return id;
}

// Without a place the sandbox starts all the same, and its user is told.
Result<> NativeBackend::order_saving(LauncherRequest& request) const {
  request.saved_bounds = TRY(saved::Bounds::from_environment());
  const auto place = saved::SavedWorkspaces::make();
  if (place) request.saved_in = place->place().native();
  if (place || !show_progress_) return {};
  show_progress_(
      fmt::format("the changes in the workspace will be lost when the sandbox ends, "
                  "because they cannot be saved: {}\n",
                  place.error().message));
  return {};
}

Result<std::string> NativeBackend::start_kept(const SandboxSpec& spec, Lifetime lifetime) {
  LauncherRequest request;
  request.spec = spec;
  request.ends_with_client = lifetime == Lifetime::WithCallerUntilReleased ? 1 : 0;
  if (!spec.workspace.empty()) TRY(order_saving(request));
  return ask_for_start(std::move(request));
}

Result<std::string> NativeBackend::ask_for_start(LauncherRequest request) {
  const RuntimeDirectory directory = TRY(RuntimeDirectory::open());
  request.operation = Operation::Start;
  request.linger_ms = TRY(launcher_linger());
  const auto ask_launcher = [&]() -> Result<std::string> {
    LauncherClient launcher =
        TRY(LauncherClient::connect_or_start(directory, programs_ / "nutshell-launcher"));
    std::string id = TRY(launcher.ask(request)).reply.id;
    if (request.ends_with_client != 0) unreleased_.emplace(id, std::move(launcher));
    return id;
  };
  auto id = ask_launcher();
  // NotFound: the launcher ended instead of answering, and a new sandbox has ended with it.
  if (!id && id.error().code == ErrorCode::NotFound) id = ask_launcher();
  return id;
}

Result<> NativeBackend::await_savers(const saved::KeptCaches& caches) {
  const Deadline patience = Deadline::in(kSavingPatience);
  for (;; std::this_thread::sleep_for(kBetweenLooks)) {
    const auto unsaved = caches.unsaved();
    if (unsaved.empty()) return {};
    const auto living = TRY(list());
    const auto is_living = [&living](const std::string& id) {
      return std::any_of(living.begin(), living.end(),
                         [&id](const SandboxStatus& status) { return status.id == id; });
    };
    if (std::all_of(unsaved.begin(), unsaved.end(), is_living)) return {};
    if (!patience.has_passed()) continue;
    return failure(ErrorCode::Unavailable,
                   "the caches of a sandbox of this project are still being saved: try again");
  }
}

Result<std::optional<saved::KeptCaches::Found>> NativeBackend::caches_for(
    const saved::KeptCaches& caches, const Limits& limits) const {
  auto found = caches.find();
  if (!found && found.error().code == ErrorCode::Corrupt) {
    caches.forget();
    if (show_progress_)
      show_progress_("the kept caches of this project are damaged, and are removed\n");
    return std::optional<saved::KeptCaches::Found>();
  }
  if (!found || !*found || (*found)->bytes <= limits.disk_bytes / 2) return found;
  return failure(
      ErrorCode::ResourceExhausted,
      fmt::format("keep-caches: the kept caches of this project have {}, more than half of the "
                  "disk limit of {}: allow more with --disk, or leave --keep-caches out",
                  format_byte_size((*found)->bytes), format_byte_size(limits.disk_bytes)));
}

// The sandbox ends with this process until its caches are there. One for a single command stays so;
// what it cached is kept if it is stopped, and not if this process is killed.
Result<std::string> NativeBackend::start_with_caches(SandboxSpec spec, Lifetime lifetime) {
  const auto caches = TRY(saved::KeptCaches::of_project(spec.workspace, spec.image));
  TRY(await_savers(caches));
  const std::string why = caches.take_failure();
  if (!why.empty() && show_progress_)
    show_progress_(fmt::format("the caches of an earlier sandbox were not kept: {}\n", why));
  auto found = TRY(caches_for(caches, spec.limits));
  LauncherRequest request;
  request.ends_with_client = 1;
  request.caches_in = caches.base().native();
  request.caches_bounds = TRY(saved::cache_bounds());
  const bool has_one_command = lifetime == Lifetime::WithCaller || spec.is_for_one_command;
  if (!has_one_command) TRY(order_saving(request));
  spec.is_for_one_command = false;  // otherwise the launcher would not hold its files
  request.spec = std::move(spec);
  std::string id = TRY(ask_for_start(std::move(request)));
  Result<> ready;
  if (found) {
    const auto restore = [&]() -> Result<> {
      wire::InitClient init(TRY(connect(id)));
      return saved::restore_caches(init, found->archive);
    };
    ready = restore();
  }
  if (ready && lifetime == Lifetime::Kept) ready = release(id);
  if (!ready) {
    (void)stop(id);  // otherwise it ends with this process
    if (ready.error().code == ErrorCode::Corrupt) caches.forget();
    return while_doing("bring the kept caches into the sandbox", std::move(ready).error());
  }
  if (lifetime == Lifetime::WithCaller) caching_.insert(id);
  return id;
}

Result<> NativeBackend::release(const std::string& id) {
  auto maker = unreleased_.extract(id);
  if (maker.empty()) return {};
  LauncherRequest request;
  request.operation = Operation::Release;
  request.id = id;
  TRY(maker.mapped().ask(request));
  return {};
}

Result<LauncherClient::Answer> NativeBackend::ask(const LauncherRequest& request) {
  const RuntimeDirectory directory = TRY(RuntimeDirectory::open());
  auto client = LauncherClient::connect(directory);
  if (!client && client.error().code == ErrorCode::NotFound) {
    return failure(ErrorCode::NotFound,
                   fmt::format("no sandbox '{}': there are none at the moment; 'nutshell create' "
                               "makes one",
                               request.id));
  }
  if (!client) return Failure(std::move(client).error());
  return client->ask(request);
}

Result<LauncherClient::Answer> NativeBackend::ask(Operation operation, const std::string& id) {
  LauncherRequest request;
  request.operation = operation;
  request.id = id;
  return ask(request);
}

Result<UniqueFd> NativeBackend::connect(const std::string& id) {
  const auto own = own_.find(id);
  if (own != own_.end()) return Starter::connect(own->second);
  const auto one_shot = one_shots_.find(id);
  if (one_shot != one_shots_.end() && one_shot->second.stream)
    return std::move(one_shot->second.stream);
  auto answer = TRY(ask(Operation::Connect, id));
  if (answer.descriptors.empty())
    return failure(ErrorCode::Internal, "the launcher sent no stream");
  return std::move(answer.descriptors.front());
}

Result<> NativeBackend::stop(const std::string& id) {
  const auto own = own_.find(id);
  if (own != own_.end()) {
    (void)starter_->finish(std::move(own->second));
    own_.erase(own);
    return {};
  }
  if (auto one_shot = one_shots_.extract(id)) {
    LauncherRequest request;
    request.operation = Operation::Stop;
    request.id = id;
    (void)one_shot.mapped().launcher.ask(request);  // else it ends with this connection
    return {};
  }
  if (caching_.erase(id) != 0) (void)release(id);  // if this fails, its caches are not kept
  unreleased_.erase(id);
  auto answer = ask(Operation::Stop, id);
  // NotFound: there is no launcher, or it exited together with this sandbox.
  const bool is_gone = !answer && answer.error().code == ErrorCode::NotFound;
  if (answer || is_gone) return {};
  return Failure(std::move(answer).error());
}

Result<std::vector<SandboxStatus>> NativeBackend::list() {
  std::vector<SandboxStatus> all;
  const RuntimeDirectory directory = TRY(RuntimeDirectory::open());
  auto client = LauncherClient::connect(directory);
  if (!client && client.error().code == ErrorCode::NotFound) return all;
  if (!client) return Failure(std::move(client).error());
  for (;;) {
    LauncherRequest request;
    request.operation = Operation::List;
    if (!all.empty()) request.id = all.back().id;
    auto answer = client->ask(request);
    if (!answer && answer.error().code == ErrorCode::NotFound) return std::vector<SandboxStatus>();
    if (!answer) return Failure(std::move(answer).error());
    for (SandboxStatus& status : answer->reply.sandboxes) {
      status.protections = protections_for(abilities(), status.spec);
      all.push_back(std::move(status));
    }
    if (answer->reply.sandboxes.empty() || answer->reply.has_more == 0) return all;
  }
}

Result<std::vector<std::string>> NativeBackend::environment_of(const std::string& id) {
  return std::move(TRY(ask(Operation::Environment, id)).reply.environment);
}

Result<SandboxStats> NativeBackend::stats(const std::string& id) {
  const LauncherReply reply = std::move(TRY(ask(Operation::Stats, id)).reply);
  SandboxStats stats = reply.stats;
  // Counted here, because reading the whole process tree would delay the launcher.
  if (!stats.cpu_time) stats.cpu_time = cpu_time_of_tree(static_cast<pid_t>(reply.init));
  return stats;
}

Result<Refusals> NativeBackend::refusals(const std::string& id) {
  return TRY(ask(Operation::Stats, id)).reply.refusals;
}

Result<> NativeBackend::pause(const std::string& id) {
  TRY(ask(Operation::Pause, id));
  return {};
}

Result<> NativeBackend::resume(const std::string& id) {
  TRY(ask(Operation::Resume, id));
  return {};
}

Result<> NativeBackend::set_time_left(const std::string& id, std::chrono::milliseconds left) {
  LauncherRequest request;
  request.operation = Operation::SetTimeLeft;
  request.id = id;
  request.left_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(0, left.count()));
  TRY(ask(request));
  return {};
}

Result<> NativeBackend::restack(const std::string& id, const std::vector<std::string>& layers) {
  const auto own = own_.find(id);
  if (own != own_.end()) {
    SideProcess process = TRY(starter_->begin_restack(own->second, {}, layers));
    return process.take_answer(Deadline::in(kRestackTime));
  }
  LauncherRequest request;
  request.operation = Operation::Restack;
  request.id = id;
  request.layers = layers;
  TRY(ask(request));
  return {};
}

Gone NativeBackend::why_gone(const std::string& id) {
  const auto own = own_.find(id);
  if (own == own_.end()) {
    const auto answer = ask(Operation::Why, id);
    if (answer && answer->reply.is_out_of_memory != 0)
      return {Gone::Reason::OutOfMemory, kOutOfMemory};
    if (!answer && answer.error().code != ErrorCode::NotFound)
      return {Gone::Reason::Unknown, answer.error().message};
    return {Gone::Reason::Unknown, kEnded};
  }
  if (std::string text = Starter::start_failure(own->second); !text.empty()) {
    return {Gone::Reason::NeverStarted, std::move(text)};
  }
  if (own->second.cgroup) {
    const auto kills = own->second.cgroup->oom_kills();
    if (kills && *kills > 0) return {Gone::Reason::OutOfMemory, kOutOfMemory};
  }
  return {Gone::Reason::Unknown, kEnded};
}

SweepReport NativeBackend::sweep(SweepMode mode) {
  const auto directory = RuntimeDirectory::open();
  SweepReport report = directory ? sweep_all_cgroups(*directory, abilities().cgroups, mode)
                                 : sweep_cgroups(abilities().cgroups, mode);
  if (directory) sweep_socket(*directory, mode, report);
  images::sweep_unpacked(mode, report);
  sweep_root_templates(mode, report);
  return report;
}

}  // namespace nutshell::native
