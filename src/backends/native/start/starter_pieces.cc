// The pools of Starter: cgroups, network and user namespaces and idle sandboxes, made ahead and
// used again.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>

#include "backends/native/cgroups/cgroup_name.h"
#include "backends/native/processes/kept_descriptors.h"
#include "backends/native/start/starter.h"
#include "base/file.h"
#include "base/socket.h"
#include "wire/codec.h"
#include "wire/orders.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSpares = 2;
constexpr std::size_t kReadyPieces = 4;
constexpr std::size_t kMostFreePieces = 32;
constexpr auto kNearlyOut = 5ms;
constexpr auto kCleaningTime = 500ms;
constexpr auto kBetweenCleanings = 5ms;

}  // namespace

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

Result<Cgroup> Starter::make_cgroup() {
  if (cgroup_owner_.empty()) cgroup_owner_ = TRY(cgroup_owner_name());
  return Cgroup::create(abilities_.cgroups, fmt::format("{}.{}", cgroup_owner_, cgroup_count_++));
}

Result<std::optional<Cgroup>> Starter::take_cgroup(const Limits& limits) {
  if (abilities_.cgroups.version() == CgroupVersion::None) return std::optional<Cgroup>();
  if (free_cgroups_.empty() && used_cgroups_.empty()) await_ended();
  while (free_cgroups_.empty() && clean_one_cgroup()) {
  }
  if (free_cgroups_.empty()) free_cgroups_.push_back(TRY(make_cgroup()));
  std::optional<Cgroup> cgroup(std::move(free_cgroups_.front()));
  free_cgroups_.pop_front();
  TRY(cgroup->apply(limits));
  return cgroup;
}

Result<std::optional<NetworkNamespace>> Starter::take_network() {
  if (pooling_ == Pooling::Off) return std::optional<NetworkNamespace>();
  if (free_networks_.empty() && used_networks_.empty()) await_ended();
  while (free_networks_.empty() && clean_one_network()) {
  }
  if (free_networks_.empty()) return std::optional(TRY(NetworkNamespace::create(home_network_)));
  std::optional<NetworkNamespace> network(std::move(free_networks_.front()));
  free_networks_.pop_front();
  return network;
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
  if (free_users_.empty()) {
    free_users_.push_back(TRY(UserNamespace::create(choose_host_ids(abilities_.privilege))));
  }
  sandbox.user.emplace(std::move(free_users_.front()));
  sandbox.ids = sandbox.user->ids();
  free_users_.pop_front();
  return {};
}

// The kernel frees the memory of a dead sandbox a little later, so a cgroup that is not clean yet
// is tried again. One that does not become clean is dropped, and the next sandbox gets a new one.
bool Starter::clean_one_cgroup() {
  if (used_cgroups_.empty() || !used_cgroups_.front().next_try.has_passed()) return false;
  UsedCgroup used = std::move(used_cgroups_.front());
  used_cgroups_.pop_front();
  if (used.cgroup.recycle(Deadline::in(0ms))) {
    free_cgroups_.push_back(std::move(used.cgroup));
  } else if (!used.last_try.has_passed()) {
    used.next_try = Deadline::in(kBetweenCleanings);
    used_cgroups_.push_back(std::move(used));
  }
  return true;
}

Deadline Starter::next_preparation() const {
  const Deadline cleaning =
      used_cgroups_.empty() ? Deadline::never() : used_cgroups_.front().next_try;
  return has_surplus() ? earlier(cleaning, surplus_end_) : cleaning;
}

bool Starter::has_surplus() const {
  return free_cgroups_.size() > kReadyPieces || free_networks_.size() > kReadyPieces ||
         free_users_.size() > kReadyPieces;
}

// Many sandboxes at a time leave many parts, each of which holds descriptors and kernel memory.
bool Starter::drop_surplus() {
  if (!has_surplus() || !surplus_end_.has_passed()) return false;
  if (free_cgroups_.size() > kReadyPieces) free_cgroups_.pop_back();
  if (free_networks_.size() > kReadyPieces) free_networks_.pop_back();
  if (free_users_.size() > kReadyPieces) free_users_.pop_back();
  return true;
}

bool Starter::clean_one_network() {
  if (used_networks_.empty()) return false;
  NetworkNamespace network = std::move(used_networks_.front());
  used_networks_.pop_front();
  const auto is_clean = network.is_clean(home_network_);
  if (is_clean && *is_clean) free_networks_.push_back(std::move(network));
  return true;
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
         spec.unsafe_without == wanted.unsafe_without &&
         (wanted.is_for_one_command || !spec.is_for_one_command);
}

// All protections of a spare are in place; it only receives its lifetime and environment now.
Result<std::optional<NativeSandbox>> Starter::take_spare(const SandboxSpec& spec) {
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
                            setup.environment, setup.working_directory};
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
  // The next sandbox needs them below kFirstKept, where a clone copies them.
  if (sandbox.cgroup && !sandbox.cgroup->renumber(kFirstOwn)) sandbox.cgroup.reset();
  if (sandbox.network && !sandbox.network->renumber(kFirstOwn)) sandbox.network.reset();
  if (sandbox.user && !sandbox.user->renumber(kFirstOwn)) sandbox.user.reset();
  if (sandbox.root && renumber(sandbox.root->mount_namespace, kFirstOwn)) {
    mount_templates_.at(sandbox.root->image)
        .with_root.push_back(std::move(sandbox.root->mount_namespace));
  }
  if (sandbox.cgroup && used_cgroups_.size() + free_cgroups_.size() < kMostFreePieces) {
    used_cgroups_.push_back(
        {std::move(*sandbox.cgroup), Deadline::in(0ms), Deadline::in(kCleaningTime)});
  }
  if (sandbox.network && used_networks_.size() + free_networks_.size() < kMostFreePieces) {
    used_networks_.push_back(std::move(*sandbox.network));
  }
  if (sandbox.user && free_users_.size() < kMostFreePieces) {
    free_users_.push_back(std::move(*sandbox.user));
  }
}

bool Starter::prepare_one() {
  if (pooling_ == Pooling::Off) return false;
  if (clean_one_cgroup() || clean_one_network() || make_spare() || drop_surplus()) return true;
  if (free_networks_.size() < kReadyPieces) {
    auto network = NetworkNamespace::create(home_network_);
    if (!network) return false;  // the next start will meet the same error and report it
    free_networks_.push_back(std::move(*network));
    return true;
  }
  if (abilities_.privilege == Privilege::Root && free_users_.size() < kReadyPieces) {
    auto user = UserNamespace::create(choose_host_ids(abilities_.privilege));
    if (!user) return false;
    free_users_.push_back(std::move(*user));
    return true;
  }
  const bool has_cgroups = abilities_.cgroups.version() != CgroupVersion::None;
  if (!has_cgroups || free_cgroups_.size() >= kReadyPieces) return false;
  auto cgroup = make_cgroup();
  if (!cgroup) return false;
  free_cgroups_.push_back(std::move(*cgroup));
  return true;
}

}  // namespace nutshell::native
