#include "backends/gvisor/gvisor_backend.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>

#include "backends/gvisor/pinned_cores.h"
#include "backends/gvisor/root_skeleton.h"
#include "base/defer.h"
#include "base/file.h"
#include "base/process_start.h"
#include "base/socket.h"
#include "core/machine_fit.h"
#include "images/image_root.h"
#include "images/image_store.h"
#include "wire/init_client.h"
#include "wire/orders.h"
#include "wire/start_report.h"
#include "wire/tree_stream.h"

namespace nutshell::gvisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartTime = 30s;
constexpr auto kAnswerTime = 10s;

Result<> send_orders(int stream, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    if (!TRY(wait_for(stream, POLLOUT, deadline)))
      return failure(ErrorCode::DeadlineExceeded, "init takes no orders");
    const ssize_t count = ::send(stream, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return syscall_failure("give init its orders");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::uint32_t> read_process(const std::filesystem::path& file) {
  const std::string text = TRY(read_file(file, 64));
  std::uint32_t process = 0;
  std::from_chars(text.data(), text.data() + text.size(), process);
  if (process == 0) return failure(ErrorCode::Corrupt, "runsc tells no process");
  return process;
}

std::vector<std::string> environment_for(const SandboxSpec& spec) {
  std::vector<std::string> environment = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "LANG=C.UTF-8",
      "SHELL=/bin/sh",
      "HOME=/workspace",
      "USER=sandbox",
      "LOGNAME=sandbox"};
  for (const std::string& variable : spec.environment) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(environment, [&](const std::string& known) { return known.starts_with(name); });
    environment.push_back(variable);
  }
  return environment;
}

// An imported image is not removed while it is held: here until gVisor's process is written down as
// its user. A directory that cannot be locked is none.
Result<UniqueFd> hold_image(const std::string& directory) {
  if (directory.empty()) return UniqueFd();
  auto held = images::hold_root(directory);
  if (held || held.error().code == ErrorCode::NotFound) return held;
  return UniqueFd();
}

}  // namespace

GvisorBackend::~GvisorBackend() {
  first_.clear();
  for (const auto& [id, bundle] : own_)
    (void)bundle.remove(Deadline::in(kAnswerTime));  // what stays is swept
}

Result<const Runsc*> GvisorBackend::runsc() {
  if (!runsc_) runsc_.emplace(TRY(Runsc::find()));
  return &*runsc_;
}

// No network of any kind, files through the second process alone, nothing of its own on the disk.
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

// The first connection is init's own standard input and output: it needs no process more, and is
// there the moment init is.
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

std::string GvisorBackend::orders_for(const SandboxSpec& spec, Lifetime lifetime) const {
  wire::ContainerOrders orders;
  orders.ttl_ms = static_cast<std::uint64_t>(spec.ttl.count());
  orders.idle_ms = static_cast<std::uint64_t>(spec.idle_timeout.count());
  orders.environment = environment_for(spec);
  orders.working_directory = spec.working_directory;
  orders.open_files = spec.limits.open_files;
  orders.store = kStoreDirectory;
  orders.base_follows = spec.workspace.empty() ? 0 : 1;
  orders.ends_with_connection = lifetime == Lifetime::Kept ? 0 : 1;
  orders.awaits_release = lifetime == Lifetime::Kept ? 1 : 0;
  orders.has_own_kernel = 1;
  orders.watched_memory_bytes = spec.limits.memory_bytes;
  if (is_cpu_watched(facts_, spec.limits)) orders.watched_millicpus = spec.limits.millicpus;
  return wire::frame_orders(orders);
}

Result<> GvisorBackend::bring_workspace(int stream, const std::string& directory) const {
  const auto special = TRY(wire::bring_directory(stream, directory, Deadline::in(wire::kCopyTime)));
  if (special.count > 0 && show_progress_) show_progress_(special.text(directory) + '\n');
  return {};
}

Result<std::string> GvisorBackend::start(const SandboxSpec& spec, Lifetime lifetime) {
  TRY(check(spec));
  (void)sweep(SweepMode::Remove);  // of those whose owners could not: a failure is theirs
  const images::ImageRoot image =
      TRY(images::root_of(spec.image, spec.image_naming, programs_ / "nutshell-unpack"));
  const UniqueFd held = TRY(hold_image(image.directory));
  SandboxSpec whole = spec;
  whole.environment = image.environment;  // what the caller asks for comes last and counts
  whole.environment.insert(whole.environment.end(), spec.environment.begin(),
                           spec.environment.end());
  Bundle bundle = TRY(Bundle::create());
  Defer removed([&] { (void)bundle.remove(Deadline::in(kAnswerTime)); });
  TRY(prepare(bundle, whole, image.directory));
  auto started = launch(bundle, whole);
  if (!started) return while_doing("start gVisor", std::move(started).error());
  TRY(send_orders(started->stream.get(), orders_for(whole, lifetime), Deadline::in(kAnswerTime)));
  if (!spec.workspace.empty()) TRY(bring_workspace(started->stream.get(), spec.workspace));
  Record record;
  record.spec = spec;
  record.started_ms = milliseconds_now();
  record.expires_ms = record.started_ms + static_cast<std::uint64_t>(spec.ttl.count());
  record.process = started->process;
  record.process_start = start_of_process(started->process).value_or(0);
  record.ends_with_caller = lifetime == Lifetime::WithCaller ? 1 : 0;
  TRY(bundle.remember(record));
  TRY(images::note_user(image.directory, {bundle.id(), record.process, record.process_start}));
  if (lifetime == Lifetime::Kept)
    TRY(wire::release(started->stream.get(), Deadline::in(kAnswerTime)));
  removed.release();
  std::string id = bundle.id();
  const bool is_released = lifetime != Lifetime::WithCallerUntilReleased;
  (is_released ? first_ : unreleased_)[id] = std::move(started->stream);
  if (lifetime == Lifetime::WithCaller) own_.emplace(id, std::move(bundle));
  return id;
}

void GvisorBackend::tidy() {
  std::erase_if(first_, [](const auto& one) {
    pollfd state{one.second.get(), 0, 0};
    return ::poll(&state, 1, 0) != 0;  // it is hung up
  });
  std::erase_if(bridges_, [](ChildProcess& bridge) {
    const auto ended = bridge.wait(Deadline::in(0ms));
    return !ended || ended->has_value();
  });
}

Result<> GvisorBackend::release(const std::string& id) {
  wire::InitClient init(TRY(connect(id)));
  TRY(init.call<wire::Done>(wire::Release{}));
  if (auto first = unreleased_.extract(id)) first_.insert(std::move(first));
  return {};
}

Result<UniqueFd> GvisorBackend::connect(const std::string& id) {
  if (auto first = first_.extract(id)) return std::move(first.mapped());
  const Record record = TRY(TRY(Bundle::at(id)).living());
  if (record.is_paused != 0) {
    return failure(ErrorCode::Unavailable,
                   fmt::format("sandbox {} is paused: 'nutshell resume {}'", id, id));
  }
  return open_bridge(id);
}

Result<UniqueFd> GvisorBackend::open_bridge(const std::string& id) {
  tidy();
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  const auto arguments = TRY(words({"exec", fmt::format("--user={}", kBridgeUser), "--cwd=/", id,
                                    kInitProgram, "connect", kSocketName}));
  bridges_.push_back(
      TRY(TRY(runsc())->spawn(arguments, {.input = theirs.get(), .output = theirs.get()})));
  return std::move(ours);
}

Result<> GvisorBackend::stop(const std::string& id) {
  first_.erase(id);
  unreleased_.erase(id);
  own_.erase(id);
  const auto bundle = Bundle::at(id);
  if (!bundle || !bundle->exists()) return {};
  return bundle->remove(Deadline::in(kAnswerTime));
}

}  // namespace nutshell::gvisor
