#include "backends/native/start/starter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/native/files/rootfs.h"
#include "backends/native/files/workspace_mount.h"
#include "backends/native/namespaces/user_counts.h"
#include "backends/native/processes/child_answer.h"
#include "backends/native/processes/clone_process.h"
#include "backends/native/processes/close_descriptors.h"
#include "backends/native/processes/kept_descriptors.h"
#include "backends/native/start/enter.h"
#include "backends/native/start/restack.h"
#include "backends/native/start/spec_facts.h"
#include "base/file.h"
#include "base/parent_death.h"
#include "base/random_id.h"
#include "base/socket.h"
#include "wire/codec.h"
#include "wire/orders.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartTime = 20s;
// After this time without a start, surplus parts are dropped.
constexpr auto kSurplusTime = 5s;
constexpr std::size_t kSpares = 2;
constexpr auto kNearlyOut = 5ms;

// Closes every descriptor but these, and opens /dev/null as standard input, output and error.
Result<> keep_only(std::vector<int> kept) {
  const UniqueFd nowhere = TRY(open_file("/dev/null", O_RDWR));
  for (const int fd : {0, 1, 2}) {
    if (::dup2(nowhere.get(), fd) < 0) return syscall_failure("dup2");
  }
  return close_all_but(std::move(kept));
}

// The environment follows the arguments in memory. The launcher has none and asks the kernel.
std::size_t own_command_line_bytes() {
  const char* begin = program_invocation_name;
  const char* end = environ != nullptr ? *environ : nullptr;
  constexpr std::ptrdiff_t kMost = 4 << 20;
  if (end != nullptr && end > begin && end - begin < kMost)
    return static_cast<std::size_t>(end - begin);
  const auto told = read_file("/proc/self/cmdline", kMost);
  return std::max(std::strlen(begin), told ? told->size() : 0);
}

// Whether all descriptors that a child needs are below kFirstKept.
bool are_low(const EnterPlan& plan, const InitSetup& setup, int report) {
  std::vector<int> needed(plan.cgroup_joins.begin(), plan.cgroup_joins.end());
  for (const auto& mount : plan.unsafe_mounts)
    needed.push_back(mount.mount);
  for (const auto& shown : plan.own_paths.shown)
    needed.push_back(shown.source);
  needed.insert(needed.end(),
                {plan.user_namespace, plan.network_namespace, plan.late_pieces, plan.parent,
                 plan.workspace_base, plan.mount_template, setup.control.get(),
                 setup.connection.get(), setup.oom_events.get(), report});
  return std::all_of(needed.begin(), needed.end(), [](int fd) { return fd < kFirstKept; });
}

}  // namespace

Result<Starter> Starter::create(InitEntry entry, Pooling pooling) {
  Starter starter(std::move(entry), pooling);
  TRY(starter.prepare_self());
  return starter;
}

Result<> Starter::prepare_self() {
  own_process_ = TRY(open_own_process());
  const Privilege privilege = find_privilege();
  if (privilege == Privilege::Root) TRY(begin_network());
  abilities_ = Abilities::find(privilege);
  caller_ = {::geteuid(), ::getegid()};
  command_line_bytes_ = own_command_line_bytes();
  // A sandbox for one command is never frozen and ends with its init.
  if (pooling_ == Pooling::Off) abilities_.cgroups.keep_limits_only();
  roots_.open(abilities_.privilege, own_process_.get());
  if (abilities_.privilege == Privilege::Rootless) TRY(gain_own_root());
  if (pooling_ == Pooling::On) TRY(parts_.open_home_network());
  return {};
}

Result<> Starter::gain_own_root() {
  auto entered = with_halved_limits([this] { return enter_own_user_namespace(caller_); });
  if (!entered) {
    return failure(
        ErrorCode::Unsupported,
        fmt::format("this host does not let users make user namespaces ({}): 'nutshell doctor' "
                    "says why and what to do",
                    entered.error().message));
  }
  TRY(bound_inotify(TRY(open_user_counts()), Share::OfAllSandboxes));
  TRY(begin_network());
  // A process can return only to a network namespace that its user namespace owns, so it gets one.
  if (pooling_ == Pooling::On && ::unshare(CLONE_NEWNET) != 0) {
    return syscall_failure("unshare", "network");
  }
  return {};
}

std::vector<int> Starter::choose_cpus(const Limits& limits) const {
  std::vector<int> chosen;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (!pins_cpus(abilities_) || ::sched_getaffinity(0, sizeof set, &set) != 0) return chosen;
  const unsigned wanted = std::min((limits.millicpus + 999) / 1000, abilities_.cores);
  const auto first = static_cast<unsigned>(random_number() % CPU_SETSIZE);
  for (unsigned i = 0; i < CPU_SETSIZE && chosen.size() < wanted; ++i) {
    const unsigned cpu = (first + i) % CPU_SETSIZE;
    if (CPU_ISSET(cpu, &set)) chosen.push_back(static_cast<int>(cpu));
  }
  return chosen;
}

InitSetup Starter::make_setup(const SandboxSpec& spec) const {
  InitSetup setup;
  setup.ttl = spec.ttl;
  setup.idle_timeout = spec.idle_timeout;
  setup.working_directory = spec.working_directory;
  setup.environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       std::string("HOME=") + kHomeDirectory,
                       "USER=sandbox",
                       "LOGNAME=sandbox",
                       "LANG=C.UTF-8",
                       "SHELL=/bin/sh"};
  for (const std::string& variable : spec.environment) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(setup.environment, [&](const std::string& old) { return old.starts_with(name); });
    setup.environment.push_back(variable);
  }
  if (!abilities_.cgroups.has_memory()) setup.watched_memory_bytes = spec.limits.memory_bytes;
  setup.is_pinned = pins_cpus(abilities_);
  const bool is_fraction = spec.limits.millicpus % 1000 != 0;
  if (setup.is_pinned && is_fraction) setup.watched_millicpus = spec.limits.millicpus;
  return setup;
}

MemoryLimiter Starter::memory_limiter() const {
  return abilities_.cgroups.has_memory() ? MemoryLimiter::Cgroup : MemoryLimiter::PerProcess;
}

bool Starter::is_restacked_later(const SandboxSpec& spec) const {
  return pooling_ == Pooling::On && !spec.is_for_one_command;
}

bool Starter::has_late_rules(const SandboxSpec& spec) const {
  return is_restacked_later(spec) && !is_without_landlock(spec, abilities_);
}

Result<HostDirectories> Starter::bring_directories(const SandboxSpec& spec,
                                                   const HostIds& ids) const {
  using enum UnsafeMount::Access;
  HostDirectories brought;
  if (!spec.workspace.empty()) {
    const HostDirectory workspace{spec.workspace, ReadOnly, abilities_.privilege, ids,
                                  Translation::WherePossible};
    brought.base = TRY(bring_host_directory(workspace));
    brought.base_to_stack = TRY(bring_again(brought.base, workspace));
  }
  for (const UnsafeMount& mount : spec.unsafe_mounts) {
    brought.unsafe_mounts.push_back(
        TRY(bring_host_directory({mount.source, mount.access, abilities_.privilege, ids})));
  }
  for (const Mount& mount : spec.mounts)
    brought.shown.push_back(
        TRY(bring_shown(mount.source, {"", UnsafeMount::Access::ReadOnly, abilities_.privilege, ids,
                                       Translation::WherePossible})));
  return brought;
}

EnterPlan Starter::plan_entry(const SandboxSpec& spec, const NativeSandbox& sandbox) const {
  EnterPlan plan;
  plan.privilege = abilities_.privilege;
  plan.ids = sandbox.ids;
  plan.image = spec.image;
  plan.prepared_root = roots_.prepared_root();
  plan.limits = spec.limits;
  plan.user_namespace = sandbox.user ? sandbox.user->descriptor() : -1;
  plan.network_namespace = sandbox.network ? sandbox.network->descriptor() : -1;
  plan.late_pieces = sandbox.late_pieces.get();
  plan.parent = own_process_.get();
  plan.has_late_cgroup = makes_cgroup_late();
  plan.memory_limiter = memory_limiter();
  plan.cpus = choose_cpus(spec.limits);
  plan.command_line = {program_invocation_name, command_line_bytes_};
  // Only if the caller accepts its absence; otherwise the step fails, and the start with it.
  plan.is_without_landlock = is_without_landlock(spec, abilities_);
  plan.locks = is_waived(spec, "locks") ? Locks::Shared : Locks::Private;
  plan.workspace_mode = spec.workspace_mode;
  plan.workspace_base = sandbox.directories.base_to_stack.get();
  for (std::size_t i = 0; i < spec.unsafe_mounts.size(); ++i) {
    const UnsafeMount& mount = spec.unsafe_mounts[i];
    plan.unsafe_mounts.push_back({sandbox.directories.unsafe_mounts[i].get(), mount.target});
    if (mount.access == UnsafeMount::Access::ReadWrite)
      plan.unsafe_writable.push_back(mount.target);
  }
  for (std::size_t i = 0; i < spec.mounts.size(); ++i)
    plan.own_paths.shown.push_back({sandbox.directories.shown[i].get(), spec.mounts[i].target});
  constexpr std::string_view kLinkedTmp = "/var/tmp";  // in the host's root a link to /tmp
  if (is_at_or_below(spec.workspace, "/tmp")) {
    plan.project_in_tmp = spec.workspace;
  } else if (is_at_or_below(spec.workspace, kLinkedTmp)) {
    if (spec.image.empty()) plan.project_in_tmp = "/tmp" + spec.workspace.substr(kLinkedTmp.size());
  } else if (has_own_path(spec.workspace)) {
    plan.own_paths.project = spec.workspace;
  }
  plan.has_network = has_network(spec);
  plan.is_restacked_later = is_restacked_later(spec);
  if (has_late_rules(spec)) ++plan.limits.processes;  // init's own thread
  return plan;
}

Result<ChildProcess> Starter::clone_into(const SandboxSpec& spec, NativeSandbox& sandbox,
                                         InitSetup setup, UniqueFd report) {
  EnterPlan plan = plan_entry(spec, sandbox);
  plan.is_root_staged = sandbox.root.has_value();
  if (plan.is_root_staged) {
    plan.mount_template = sandbox.root->mount_namespace.get();
  } else if (pooling_ == Pooling::On) {
    plan.mount_template = roots_.plain_template(spec.image);
  }
  int cgroup_directory = -1;
  if (sandbox.cgroup) {
    if (!sandbox.is_only_limited) cgroup_directory = sandbox.cgroup->clone_directory();
    plan.cgroup_joins = sandbox.cgroup->join_descriptors_after_clone();
  }
  constexpr std::uint64_t kFlags = CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
  // clone_with_low_descriptors() waits until the child has run. In a cgroup with a fraction of a
  // CPU that may take seconds, in which the launcher would serve no one.
  const bool runs_at_once = cgroup_directory < 0 || spec.limits.millicpus >= 1000;
  const bool has_low = pooling_ == Pooling::On && runs_at_once &&
                       are_low(plan, setup, report.get()) &&
                       sandbox.directories.base.get() < kFirstKept;
  ChildProcess child = TRY(has_low ? clone_with_low_descriptors(kFlags, cgroup_directory)
                                   : clone_process(kFlags, cgroup_directory));
  if (child.pid() != 0) return child;
  // Opened before guard_init(), after which this process's /proc files belong to root.
  auto priority = open_file("/proc/self/oom_score_adj", O_WRONLY);
  if (priority) setup.memory_priority = std::move(*priority);
  auto entered = enter_sandbox(plan);
  Result<> ready;
  if (entered && entered->oom_events) setup.oom_events = std::move(entered->oom_events);
  if (!entered) ready = Failure(entered.error());
  std::vector<int> handed_out;  // to the parent, for changing layers later
  if (ready) {
    setup.is_copied = static_cast<bool>(entered->copied_base);
    setup.base = std::move(setup.is_copied ? entered->copied_base : sandbox.directories.base);
    setup.path_rules = std::move(entered->path_rules);
    setup.store = std::move(entered->store);
    setup.name_datagrams = std::move(entered->name_sockets.datagrams);
    setup.name_listener = std::move(entered->name_sockets.listener);
    if (entered->mount_namespace) handed_out = {setup.store.get(), entered->mount_namespace.get()};
    ready = keep_only({setup.control.get(), setup.connection.get(), setup.oom_events.get(),
                       setup.memory_priority.get(), report.get(), setup.store.get(),
                       setup.base.get(), setup.path_rules.get(), entered->mount_namespace.get(),
                       setup.name_datagrams.get(), setup.name_listener.get()});
  }
  if (ready) ready = limit_open_files(spec.limits, abilities_.privilege);
  const std::string answer =
      ready ? encode_answer(Result<std::string>(entered->why_copied)) : encode_answer(ready);
  (void)send_packet(report.get(), answer, handed_out);  // init ends with its parent anyway
  if (!ready) ::_exit(1);
  entered->mount_namespace.reset();
  report.reset();
  ::_exit(entry_(std::move(setup)));
}

Result<NativeSandbox> Starter::start(const SandboxSpec& spec, EndsWith end) {
  const bool is_plain = is_without_directories(spec);
  TRY(roots_.hold_image(spec.image));
  parts_.keep_surplus(Deadline::in(kSurplusTime));
  if (is_plain) {
    last_spec_ = spec;
    last_spec_.environment = std::vector<std::string>();  // frees the memory, which = {} would not
    last_spec_.network.secrets.clear();
  }
  if (auto spare = TRY(take_spare(spec, end))) return std::move(*spare);
  InitSetup setup = make_setup(spec);
  setup.is_for_one_caller = end == EndsWith::Connection;
  UniqueFd ours;
  std::tie(ours, setup.connection) = TRY(make_socket_pair(SocketKind::Stream));
  NativeSandbox sandbox = TRY(start_anew(spec, std::move(setup)));
  sandbox.stream = std::move(ours);
  return sandbox;
}

Result<NativeSandbox> Starter::start_anew(const SandboxSpec& spec, InitSetup setup) {
  NativeSandbox sandbox;
  TRY(take_user(sandbox));
  sandbox.directories = TRY(bring_directories(spec, sandbox.ids));
  Limits limits = spec.limits;
  if (has_late_rules(spec)) sandbox.init_threads = 2;
  limits.processes += sandbox.init_threads - 1;
  // A sandbox for one command is never paused, and joining each directory costs time.
  sandbox.is_only_limited =
      spec.is_for_one_command && abilities_.cgroups.version() == CgroupVersion::V1;
  if (!makes_cgroup_late()) setup.oom_events = TRY(add_cgroup(sandbox, limits));
  TRY(begin_network());
  sandbox.network = TRY(take_network());
  const bool has_own_paths = !spec.mounts.empty() || has_own_path(spec.workspace);
  if (pooling_ == Pooling::On && !is_waived(spec, "locks") && !has_own_paths &&
      (spec.image.empty() || !has_network(spec)))  // the root of an image gets files of its own
    sandbox.root = roots_.take(spec.image);
  UniqueFd report;
  std::tie(sandbox.control, setup.control) = TRY(make_socket_pair(SocketKind::Packets));
  std::tie(sandbox.report, report) = TRY(make_socket_pair(SocketKind::Stream));
  UniqueFd pieces;
  if (!sandbox.network) {
    std::tie(pieces, sandbox.late_pieces) = TRY(make_socket_pair(SocketKind::Packets));
  }
  sandbox.init = TRY(clone_into(spec, sandbox, std::move(setup), std::move(report)));
  sandbox.late_pieces.reset();
  sandbox.directories.base_to_stack.reset();
  sandbox.directories.shown.clear();
  if (makes_cgroup_late()) {
    const UniqueFd oom_events = TRY(add_cgroup(sandbox, limits));
    auto sent =
        send_late_cgroup(pieces.get(), sandbox.cgroup->join_descriptors(), oom_events.get());
    if (!sent) {
      TRY(wait_until_started(sandbox));  // a child that gave up before says why
      return Failure(std::move(sent).error());
    }
  }
  if (pieces) send_network(pieces.get());
  return sandbox;
}

Result<bool> Starter::has_started(NativeSandbox& sandbox) {
  if (!TRY(wait_for(sandbox.report.get(), POLLIN, Deadline::in(0s)))) return false;
  TRY(wait_until_started(sandbox));
  return true;
}

Result<> Starter::wait_until_started(NativeSandbox& sandbox) {
  Packet answer = TRY(receive_packet(sandbox.report.get(), Deadline::in(kStartTime)));
  auto why_copied = decode_answer(answer.bytes);
  if (!why_copied) return while_doing("start the sandbox", std::move(why_copied).error());
  sandbox.why_copied = std::move(*why_copied);
  if (answer.descriptors.size() == 2) {
    sandbox.store = std::move(answer.descriptors[0]);
    sandbox.mount_namespace = std::move(answer.descriptors[1]);
  }
  return {};
}

std::string Starter::start_failure(NativeSandbox& sandbox) {
  if (!sandbox.report) return {};
  auto started = wait_until_started(sandbox);
  sandbox.report.reset();
  return started ? std::string() : started.error().message;
}

Result<UniqueFd> Starter::connect(NativeSandbox& sandbox) {
  if (sandbox.stream) return std::move(sandbox.stream);
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  TRY(send_packet(sandbox.control.get(), "c", {theirs.get()}));
  return std::move(ours);
}

Result<SideProcess> Starter::begin_restack(const NativeSandbox& sandbox, const SandboxSpec& spec,
                                           const std::vector<std::string>& layers) const {
  if (!sandbox.mount_namespace) {
    return failure(ErrorCode::Unsupported, "a sandbox for one command has no layers");
  }
  RestackPlan plan;
  plan.store = sandbox.store.get();
  plan.mount_namespace = sandbox.mount_namespace.get();
  UniqueFd base;
  if (sandbox.directories.base) {
    base = TRY(bring_again(sandbox.directories.base, {spec.workspace, UnsafeMount::Access::ReadOnly,
                                                      abilities_.privilege, sandbox.ids}));
  }
  plan.base = base.get();
  plan.control = sandbox.control.get();
  plan.layers = layers;
  plan.memory_limiter = memory_limiter();
  plan.has_rules = has_late_rules(spec);
  for (const UnsafeMount& mount : spec.unsafe_mounts) {
    if (mount.access == UnsafeMount::Access::ReadWrite)
      plan.unsafe_writable.push_back(mount.target);
  }
  return native::begin_restack(plan);
}

// ---- Parts, spares and the end of a sandbox -----------------------------------------------------

// Called as early as possible, because making a network namespace takes longest.
Result<> Starter::begin_network() {
  if (pooling_ == Pooling::Off && !network_maker_)
    network_maker_.emplace(TRY(NetworkMaker::start()));
  return {};
}

// Sends the network namespace to the sandbox, or the error, which the sandbox then reports.
void Starter::send_network(int late_pieces) {
  auto made = network_maker_->take();
  network_maker_.reset();
  if (made) {
    (void)send_packet(late_pieces, "made", {made->get()});  // fails if the sandbox has died
  } else {
    (void)send_packet(late_pieces, made.error().message);
  }
}

Result<std::optional<Cgroup>> Starter::take_cgroup(const Limits& limits) {
  if (abilities_.cgroups.version() == CgroupVersion::None) return std::optional<Cgroup>();
  if (parts_.has_no_cgroup()) await_ended();
  std::optional<Cgroup> cgroup(TRY(parts_.take_cgroup(abilities_.cgroups)));
  TRY(cgroup->apply(limits));
  return cgroup;
}

Result<std::optional<NetworkNamespace>> Starter::take_network() {
  if (pooling_ == Pooling::Off) return std::optional<NetworkNamespace>();
  if (parts_.has_no_network()) await_ended();
  return std::optional(TRY(parts_.take_network()));
}

// All sandboxes of a plain user have that user's ids, each in a namespace that it makes itself.
Result<> Starter::take_user(NativeSandbox& sandbox) {
  if (abilities_.privilege != Privilege::Root) {
    sandbox.ids = caller_;
    return {};
  }
  if (pooling_ == Pooling::Off) {
    sandbox.ids = choose_host_ids(abilities_.privilege);
    return {};
  }
  sandbox.user.emplace(TRY(parts_.take_user(abilities_.privilege)));
  sandbox.ids = sandbox.user->ids();
  return {};
}

// On a host with v1 controllers a child can join its cgroups at any time at little cost, so a
// one-shot sandbox mounts its files while this process makes them.
bool Starter::makes_cgroup_late() const {
  return pooling_ == Pooling::Off && abilities_.cgroups.version() == CgroupVersion::V1;
}

// Returns the file in which init sees that memory ran out; closed if the cgroup has none.
Result<UniqueFd> Starter::add_cgroup(NativeSandbox& sandbox, const Limits& limits) {
  auto cgroup = TRY(take_cgroup(limits));
  if (!cgroup) return UniqueFd();
  sandbox.cgroup.emplace(std::move(*cgroup));
  return abilities_.cgroups.has_memory() ? sandbox.cgroup->open_oom_events() : UniqueFd();
}

bool Starter::Spare::fits(const SandboxSpec& wanted) const {
  return spec.limits == wanted.limits && spec.image == wanted.image &&
         spec.unsafe_without == wanted.unsafe_without && has_network(spec) == has_network(wanted) &&
         (wanted.is_for_one_command || !spec.is_for_one_command);
}

// All protections of a spare are in place; it only receives its lifetime and environment now.
Result<std::optional<NativeSandbox>> Starter::take_spare(const SandboxSpec& spec, EndsWith end) {
  // A spare is made before a spec is known, so it has no directories of the host mounted.
  if (!is_without_directories(spec)) return std::optional<NativeSandbox>();
  const auto found = std::find_if(spares_.begin(), spares_.end(),
                                  [&](const Spare& spare) { return spare.fits(spec); });
  if (found == spares_.end()) return std::optional<NativeSandbox>();
  std::optional<NativeSandbox> sandbox(std::move(found->sandbox));
  spares_.erase(found);
  const InitSetup setup = make_setup(spec);
  UniqueFd theirs;
  std::tie(sandbox->stream, theirs) = TRY(make_socket_pair(SocketKind::Stream));
  const wire::Orders orders{static_cast<std::uint64_t>(setup.ttl.count()),
                            static_cast<std::uint64_t>(setup.idle_timeout.count()),
                            setup.environment, setup.working_directory,
                            static_cast<std::uint8_t>(end == EndsWith::Connection ? 1 : 0)};
  const std::string bytes = wire::encode(orders);
  if (bytes.size() <= kMostPacketBytes &&
      try_send_packet(sandbox->control.get(), bytes, {theirs.get()}).value_or(false)) {
    return sandbox;
  }
  (void)finish(std::move(*sandbox));  // it has died; the caller makes a new one
  return std::optional<NativeSandbox>();
}

bool Starter::make_spare() {
  if (spares_.size() >= kSpares) {
    if (std::any_of(spares_.begin(), spares_.end(),
                    [this](const Spare& spare) { return spare.fits(last_spec_); })) {
      return false;
    }
    (void)finish(std::move(spares_.front().sandbox));  // the last start needed another kind
    spares_.pop_front();
  }
  InitSetup setup = make_setup(last_spec_);
  setup.waits_for_orders = true;
  auto sandbox = start_anew(last_spec_, std::move(setup));
  if (!sandbox) return false;  // the next start will meet the same error and report it
  spares_.push_back({last_spec_, std::move(*sandbox)});
  return true;
}

// Uses the cgroup's count, which includes every process of the sandbox. A killed init starts no
// more.
bool Starter::is_alone(const NativeSandbox& sandbox) const {
  if (!sandbox.cgroup || !abilities_.cgroups.has_pids()) return false;
  const auto count = sandbox.cgroup->process_count();
  return count && *count <= sandbox.init_threads;
}

UniqueFd Starter::finish(NativeSandbox sandbox) {
  sandbox.init.send_signal(SIGKILL);
  const bool has_only_init = pooling_ == Pooling::On && is_alone(sandbox);
  const bool has_many = pooling_ == Pooling::On && !has_only_init;
  if (sandbox.cgroup && (has_many || sandbox.cgroup->is_slowed())) sandbox.cgroup->let_killed_end();
  if (pooling_ == Pooling::Off) {
    recycle(std::move(sandbox));
    return {};
  }
  // The kernel still has to take down mounts and memory, which no caller has to wait for.
  UniqueFd end;
  if (!has_only_init) {
    end = UniqueFd(::fcntl(sandbox.init.descriptor(), F_DUPFD_CLOEXEC, kFirstOwn));
    if (!end) {  // this process has no descriptor left
      recycle(std::move(sandbox));
      return {};
    }
  }
  ending_.push_back(std::move(sandbox));
  return end;
}

void Starter::collect_ended() {
  for (std::size_t left = ending_.size(); left > 0; --left) {
    NativeSandbox sandbox = std::move(ending_.front());
    ending_.pop_front();
    const auto has_ended = wait_for(sandbox.init.descriptor(), POLLIN, Deadline::in(0ms));
    if (has_ended && !*has_ended) {
      ending_.push_back(std::move(sandbox));
    } else {
      recycle(std::move(sandbox));
    }
  }
}

// Waiting a moment for the parts of an ending sandbox is faster than making new ones.
void Starter::await_ended() {
  if (ending_.empty()) return;
  (void)wait_for(ending_.front().init.descriptor(), POLLIN, Deadline::in(kNearlyOut));
  collect_ended();
}

Result<> Starter::put_aside(NativeSandbox& sandbox) {
  for (UniqueFd* fd : {&sandbox.control, &sandbox.stream, &sandbox.store, &sandbox.mount_namespace,
                       &sandbox.directories.base}) {
    TRY(renumber(*fd, kFirstKept));
  }
  for (UniqueFd& mount : sandbox.directories.unsafe_mounts)
    TRY(renumber(mount, kFirstKept));
  if (sandbox.user) TRY(sandbox.user->renumber(kFirstKept));
  if (sandbox.network) {
    sandbox.network->close_counters();
    TRY(sandbox.network->renumber(kFirstKept));
  }
  if (sandbox.root) TRY(renumber(sandbox.root->mount_namespace, kFirstKept));
  if (sandbox.cgroup) TRY(sandbox.cgroup->renumber(kFirstKept));
  return {};
}

void Starter::recycle(NativeSandbox sandbox) {
  sandbox.init.kill_and_reap();  // the kernel ends the rest of the pid namespace first
  if (pooling_ == Pooling::Off) return;
  if (sandbox.cgroup) parts_.give_back(std::move(*sandbox.cgroup));
  if (sandbox.network) parts_.give_back(std::move(*sandbox.network));
  if (sandbox.user) parts_.give_back(std::move(*sandbox.user));
  if (sandbox.root) roots_.give_back(std::move(*sandbox.root));
}

bool Starter::prepare_one() {
  if (pooling_ == Pooling::Off) return false;
  return parts_.clean_one() || make_spare() || parts_.drop_surplus() || parts_.make_one(abilities_);
}

Deadline Starter::next_preparation() const {
  return parts_.next_change();
}

}  // namespace nutshell::native
