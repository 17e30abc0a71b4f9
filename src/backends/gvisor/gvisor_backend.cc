#include "backends/gvisor/gvisor_backend.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>

#include "backends/gvisor/pinned_cores.h"
#include "backends/gvisor/root_skeleton.h"
#include "backends/gvisor/runsc_stats.h"
#include "base/defer.h"
#include "base/file.h"
#include "base/process_start.h"
#include "base/socket.h"
#include "containers/container_layout.h"
#include "containers/init_orders.h"
#include "containers/trial.h"
#include "core/machine_fit.h"
#include "images/image_root.h"
#include "images/image_store.h"
#include "wire/init_client.h"
#include "wire/start_report.h"

namespace nutshell::gvisor {
namespace {

using namespace std::chrono_literals;
using containers::milliseconds_now;

constexpr auto kStartTime = 30s;
constexpr auto kAnswerTime = 10s;
constexpr auto kPatience = 60s;  // init ends the sandbox itself when its ttl is over

Result<> send_orders(int stream, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    if (!TRY(wait_for(stream, POLLOUT, deadline)))
      return failure(ErrorCode::DeadlineExceeded, "init does not read its orders");
    const ssize_t count = ::send(stream, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return syscall_failure("send init its orders");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::uint32_t> read_process(const std::filesystem::path& file) {
  const std::string text = TRY(read_file(file, 64));
  std::uint32_t process = 0;
  std::from_chars(text.data(), text.data() + text.size(), process);
  if (process == 0) return failure(ErrorCode::Corrupt, "runsc wrote no process number");
  return process;
}

// Keeps an imported image from being removed until gVisor's process is noted as its user. A
// directory that cannot be locked is not an imported image.
Result<UniqueFd> hold_image(const std::string& directory) {
  if (directory.empty()) return UniqueFd();
  auto held = images::hold_root(directory);
  if (held || held.error().code == ErrorCode::NotFound) return held;
  return UniqueFd();
}

// A process that makes a sandbox, or that the sandbox ends with, holds the bundle's lock.
bool is_leftover(Bundle& bundle) {
  if (!bundle.lock()) return false;
  const auto record = bundle.living();
  return !record || record->ends_with_caller ||
         milliseconds_now() > record->clock.expires_at + kPatience;
}

}  // namespace

GvisorBackend::~GvisorBackend() {
  first_.clear();
  for (const auto& [id, bundle] : own_)
    (void)bundle.remove(Deadline::in(kAnswerTime));  // a later sweep removes what is left
  for (ChildProcess& bridge : lasting_bridges_)
    bridge.release();
}

Result<const Runsc*> GvisorBackend::runsc() {
  if (!runsc_) runsc_.emplace(TRY(Runsc::find()));
  return &*runsc_;
}

// No network, files only through gVisor's second process, no overlay file on the disk.
Result<std::vector<std::string>> GvisorBackend::words(std::vector<std::string> command) const {
  const std::filesystem::path state = TRY(Bundle::state_directory());
  std::vector<std::string> all = {"--root=" + state.native(), "--network=none", "--directfs=false",
                                  "--overlay2=none"};
  if (!facts_.is_root) all.emplace_back("--rootless");
  if (facts_.cgroup.empty()) all.emplace_back("--ignore-cgroups");
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

Result<Protections> GvisorBackend::check(const SandboxSpec& spec) {
  TRY(runsc());
  TRY(check_spec_here(facts_, spec));
  TRY(check_fits_machine(spec.limits));
  return protections_for(facts_, spec);
}

Result<> GvisorBackend::prepare(const Bundle& bundle, const SandboxSpec& spec,
                                const std::string& image) const {
  BundlePlan plan;
  plan.id = bundle.id();
  plan.spec = spec;
  plan.host = facts_;
  plan.init_program = programs_ / "nutshell-init";
  plan.sharing = TRY(write_skeleton(bundle.root(), image, spec));
  return write_file(bundle.path() / "config.json", config_of(plan), 0600);
}

// The first connection is init's standard input and output: it needs no process of its own and
// exists as soon as init does.
Result<GvisorBackend::Started> GvisorBackend::launch(const Bundle& bundle,
                                                     const SandboxSpec& spec) {
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  const auto arguments = TRY(words({"run", bundle.argument(), "--detach",
                                    "--pid-file=" + bundle.process_file().native(), bundle.id()}));
  std::optional<PinnedCores> pinned;
  if (facts_.cgroup.empty()) pinned.emplace(TRY(PinnedCores::take(whole_cores(spec.limits))));
  TRY(runsc_->run(arguments, {.input = theirs.get(), .output = theirs.get()},
                  Deadline::in(kStartTime)));
  return Started{std::move(ours), TRY(read_process(bundle.process_file()))};
}

wire::ContainerOrders GvisorBackend::orders_for(
    const SandboxSpec& spec, Lifetime lifetime,
    const std::vector<std::string>& image_environment) const {
  auto orders = containers::orders_for(spec, lifetime, image_environment);
  orders.base_follows = spec.workspace.empty() ? 0 : 1;
  orders.has_own_kernel = 1;
  orders.watched_memory_bytes = spec.limits.memory_bytes;
  if (is_cpu_watched(facts_, spec.limits)) orders.watched_millicpus = spec.limits.millicpus;
  return orders;
}

Result<std::string> GvisorBackend::start(const SandboxSpec& spec, Lifetime lifetime) {
  TRY(check(spec));
  (void)sweep(
      SweepMode::Remove);  // removes what others left; a failure does not concern this start
  const images::ImageRoot image =
      TRY(images::root_of(spec.image, spec.image_naming, programs_ / "nutshell-unpack"));
  const UniqueFd held = TRY(hold_image(image.directory));
  Bundle bundle = TRY(Bundle::create());
  Defer removed([&] { (void)bundle.remove(Deadline::in(kAnswerTime)); });
  TRY(prepare(bundle, spec, image.directory));
  auto started = launch(bundle, spec);
  if (!started) return while_doing("start gVisor", std::move(started).error());
  const int stream = started->stream.get();
  const auto orders = orders_for(spec, lifetime, image.environment);
  TRY(send_orders(stream, wire::frame_orders(orders), Deadline::in(kAnswerTime)));
  if (!spec.workspace.empty())
    TRY(containers::bring_workspace(stream, spec.workspace, show_progress_));
  Record record;
  record.spec = spec;
  record.started_at = milliseconds_now();
  record.clock.expires_at = record.started_at + spec.ttl;
  record.process = started->process;
  record.process_start = start_of_process(started->process).value_or(0);
  record.ends_with_caller = lifetime == Lifetime::WithCaller;
  TRY(bundle.remember(record));
  TRY(images::note_user(image.directory, {bundle.id(), record.process, record.process_start}));
  if (lifetime == Lifetime::Kept) TRY(wire::release(stream, Deadline::in(kAnswerTime)));
  removed.release();
  std::string id = bundle.id();
  first_.add(id, std::move(started->stream), lifetime);
  if (lifetime == Lifetime::WithCaller) own_.emplace(id, std::move(bundle));
  return id;
}

void GvisorBackend::tidy() {
  first_.tidy();
  for (auto* bridges : {&bridges_, &lasting_bridges_}) {
    std::erase_if(*bridges, [](ChildProcess& bridge) {
      const auto ended = bridge.wait(Deadline::in(0ms));
      return !ended || ended->has_value();
    });
  }
}

Result<> GvisorBackend::release(const std::string& id) {
  wire::InitClient init(TRY(connect(id)));
  TRY(init.call<wire::Done>(wire::Release{}));
  first_.release(id);
  return {};
}

Result<UniqueFd> GvisorBackend::connect(const std::string& id) {
  if (UniqueFd first = first_.take(id)) return first;
  if (TRY(TRY(Bundle::at(id)).living()).clock.is_paused) return containers::paused_failure(id);
  return open_bridge(id, bridges_);
}

Result<LastingStream> GvisorBackend::connect_for_program(const std::string& id) {
  return LastingStream{TRY(open_bridge(id, lasting_bridges_)), StreamForm::Carried};
}

Result<UniqueFd> GvisorBackend::open_bridge(const std::string& id,
                                            std::vector<ChildProcess>& bridges) {
  tidy();
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  const auto arguments =
      TRY(words({"exec", fmt::format("--user={}", containers::kBridgeUser), "--cwd=/", id,
                 containers::kInitProgram, "connect", containers::kSocketName}));
  bridges.push_back(
      TRY(TRY(runsc())->spawn(arguments, {.input = theirs.get(), .output = theirs.get()})));
  return std::move(ours);
}

Result<> GvisorBackend::stop(const std::string& id) {
  first_.remove(id);
  own_.erase(id);
  const auto bundle = Bundle::at(id);
  if (!bundle || !bundle->exists()) return {};
  return bundle->remove(Deadline::in(kAnswerTime));
}

// One sandbox, for containers/ttl_clock.h.
class GvisorBackend::PausableBundle : public containers::PausableSandbox {
 public:
  static Result<PausableBundle> open(GvisorBackend& backend, const std::string& id) {
    Bundle bundle = TRY(Bundle::at(id));
    Record record = TRY(bundle.living());
    return PausableBundle(backend, std::move(bundle), std::move(record));
  }
  [[nodiscard]] const containers::TtlClock& clock() const { return record_.clock; }

  Result<> keep(const containers::TtlClock& clock) override {
    record_.clock = clock;
    return bundle_.remember(record_);
  }
  // Over a connection of its own: the first one is for the next caller of connect().
  Result<> tell_init(std::chrono::milliseconds left) override {
    return containers::tell_time_left(TRY(backend_.open_bridge(bundle_.id(), backend_.bridges_)),
                                      left);
  }
  Result<KnownBy> freeze() override {
    TRY(control("pause"));
    return KnownBy::RecordAlone;
  }
  Result<> thaw() override { return control("resume"); }

 private:
  PausableBundle(GvisorBackend& backend, Bundle bundle, Record record)
      : backend_(backend), bundle_(std::move(bundle)), record_(std::move(record)) {}

  Result<> control(const char* command) {
    return TRY(backend_.runsc())
        ->run(TRY(backend_.words({command, bundle_.id()})), {}, Deadline::in(kAnswerTime));
  }

  GvisorBackend& backend_;
  Bundle bundle_;
  Record record_;
};

Result<> GvisorBackend::set_time_left(const std::string& id, std::chrono::milliseconds left) {
  auto sandbox = TRY(PausableBundle::open(*this, id));
  return containers::set_time_left(sandbox, containers::TtlClock(sandbox.clock()), left);
}

Result<> GvisorBackend::pause(const std::string& id) {
  auto sandbox = TRY(PausableBundle::open(*this, id));
  return containers::pause(sandbox, containers::TtlClock(sandbox.clock()));
}

Result<> GvisorBackend::resume(const std::string& id) {
  auto sandbox = TRY(PausableBundle::open(*this, id));
  if (!sandbox.clock().is_paused) return {};
  return containers::resume(sandbox, containers::TtlClock(sandbox.clock()));
}

Result<std::vector<SandboxStatus>> GvisorBackend::list() {
  std::vector<SandboxStatus> all;
  const auto now = milliseconds_now();
  for (const std::string& id : TRY(Bundle::ids())) {
    const auto record = TRY(Bundle::at(id)).living();
    if (!record) continue;
    SandboxStatus status;
    status.id = id;
    status.spec = record->spec;
    status.spec.environment.clear();
    status.state = record->clock.is_paused ? SandboxState::Paused : SandboxState::Running;
    status.age = std::max(now - record->started_at, 0ms);
    status.time_left = record->clock.left_at(now);
    status.protections = protections_for(facts_, status.spec);
    status.why_copied = "gVisor stacks no layers for init";
    all.push_back(std::move(status));
  }
  return all;
}

Result<std::vector<std::string>> GvisorBackend::environment_of(const std::string& id) {
  return TRY(TRY(Bundle::at(id)).remembered()).spec.environment;
}

Result<SandboxStats> GvisorBackend::stats(const std::string& id) {
  TRY(TRY(Bundle::at(id)).living());
  auto told = TRY(runsc())->ask(TRY(words({"events", "--stats", id})), Deadline::in(kAnswerTime));
  // A sandbox that ended meanwhile is NotFound, whatever runsc says about it.
  if (!told) TRY(TRY(Bundle::at(id)).living());
  SandboxStats stats = TRY(read_stats(TRY(std::move(told))));
  // Without a cgroup of the sandbox's own, runsc reports the processor time of its caller's cgroup,
  // which may be the whole machine's.
  if (facts_.cgroup.empty()) stats.cpu_time.reset();
  return stats;
}

// Looks at the sandbox's cgroups, which a sweep removes.
Gone GvisorBackend::why_gone(const std::string& id) {
  if (has_run_out_of_memory(id))
    return {Gone::Reason::OutOfMemory, "the whole sandbox ran out of memory and has ended"};
  return {Gone::Reason::Unknown, "the sandbox has ended"};
}

Protections GvisorBackend::probe() {
  const auto tried = containers::try_sandbox(*this, SandboxSpec{});
  Protections protections = protections_for(facts_, SandboxSpec{});
  protections.push_back(containers::trial_row(
      tried, runsc_ ? fmt::format("{} of {}", runsc_->program(), runsc_->version()) : ""));
  return protections;
}

SweepReport GvisorBackend::sweep(SweepMode mode) {
  SweepReport report;
  const auto ids = Bundle::ids();
  if (!ids) return report;
  for (const std::string& id : *ids) {
    auto bundle = Bundle::at(id);
    if (!bundle || !is_leftover(*bundle)) continue;
    const bool is_removed = mode == SweepMode::DryRun || bundle->remove(Deadline::in(kAnswerTime));
    (is_removed ? report.removed : report.failed).push_back(fmt::format("gVisor sandbox {}", id));
  }
  return report;
}

}  // namespace nutshell::gvisor
