#include "backends/native/starter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "backends/native/cgroup_name.h"
#include "backends/native/enter.h"
#include "backends/native/rootfs.h"
#include "base/file.h"
#include "base/random_id.h"
#include "base/socket.h"
#include "wire/codec.h"
#include "wire/orders.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSpares = 2;
constexpr std::size_t kReadyPieces = 4;
constexpr std::size_t kMostFreePieces = 32;
constexpr auto kStartTime = 20s;
constexpr char kStarted = '+';

// Like fork, with namespaces; the child runs on its copy of this stack.
Result<ChildProcess> clone_process(std::uint64_t flags, int cgroup_directory) {
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = flags | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  if (cgroup_directory >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<std::uint64_t>(cgroup_directory);
  }
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid < 0) return syscall_failure("clone a process");
  return ChildProcess(static_cast<pid_t>(pid), UniqueFd(pidfd));
}

// Everything but these is closed; the standard three lead nowhere.
Result<> keep_only(std::vector<int> kept) {
  const UniqueFd nowhere = TRY(open_file("/dev/null", O_RDWR));
  for (const int fd : {0, 1, 2}) {
    if (::dup2(nowhere.get(), fd) < 0) return syscall_failure("dup2");
  }
  std::sort(kept.begin(), kept.end());
  unsigned next = 3;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (fd < 0 || number < next) continue;
    if (number > next) ::close_range(next, number - 1, 0);
    next = number + 1;
  }
  if (::close_range(next, ~0U, 0) != 0) return syscall_failure("close_range");
  return {};
}

std::string encode_error(const Error& error) {
  return static_cast<char>(error.code) + error.message;
}

}  // namespace

Result<Starter> Starter::create(InitEntry entry, Pooling pooling) {
  Starter starter(std::move(entry), pooling);
  TRY(starter.prepare_self());
  return starter;
}

Result<> Starter::prepare_self() {
  abilities_ = Abilities::find();
  caller_ = {::geteuid(), ::getegid()};
  cgroup_owner_ = TRY(cgroup_owner_name());
  const std::string command_line = TRY(read_file("/proc/self/cmdline", 4U << 20U));
  command_line_bytes_ = command_line.size();
  if (abilities_.privilege == Privilege::Rootless) TRY(gain_own_root());
  if (pooling_ == Pooling::On) home_network_ = TRY(open_own_network_namespace());
  return {};
}

Result<> Starter::gain_own_root() {
  auto entered = enter_own_user_namespace(caller_);
  if (!entered) {
    return failure(
        ErrorCode::Unsupported,
        fmt::format("this host grants no user namespace ({}): 'nutshell doctor' says why "
                    "and what to do",
                    entered.error().message));
  }
  // To move between pooled network namespaces, home must be one of this user's own.
  if (pooling_ == Pooling::On && ::unshare(CLONE_NEWNET) != 0) {
    return syscall_failure("unshare", "network");
  }
  return {};
}

Result<Cgroup> Starter::make_cgroup() {
  return Cgroup::create(abilities_.cgroups, fmt::format("{}.{}", cgroup_owner_, cgroup_count_++));
}

Result<std::optional<Cgroup>> Starter::take_cgroup(const Limits& limits) {
  if (abilities_.cgroups.version() == CgroupVersion::None) return std::optional<Cgroup>();
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
  while (free_networks_.empty() && clean_one_network()) {
  }
  if (free_networks_.empty()) return std::optional(TRY(NetworkNamespace::create(home_network_)));
  std::optional<NetworkNamespace> network(std::move(free_networks_.front()));
  free_networks_.pop_front();
  return network;
}

// One that cannot be made as new is dropped: the next sandbox gets a fresh one.
bool Starter::clean_one_cgroup() {
  if (used_cgroups_.empty()) return false;
  Cgroup cgroup = std::move(used_cgroups_.front());
  used_cgroups_.pop_front();
  if (cgroup.recycle(Deadline::in(20ms))) free_cgroups_.push_back(std::move(cgroup));
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

// A mount namespace that holds the shared part of an image's root; its maker leaves at once.
Result<UniqueFd> Starter::make_shared_root(const std::string& image) {
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  ChildProcess maker = TRY(clone_process(CLONE_NEWNS, -1));
  if (maker.pid() == 0) {
    auto entered = enter_shared_root({image, abilities_.privilege});
    const std::string answer = entered ? std::string(1, kStarted) : encode_error(entered.error());
    (void)write_all(theirs.get(), answer);  // a launcher that is gone needs no answer
    ours.reset();
    char wait = 0;
    (void)!::read(theirs.get(), &wait, 1);  // alive until the launcher holds the namespace
    ::_exit(0);
  }
  theirs.reset();
  std::array<char, 1024> answer{};
  const ssize_t count = ::read(ours.get(), answer.data(), answer.size());
  if (count <= 0) return failure(ErrorCode::Internal, "the root file system's maker died");
  if (answer[0] != kStarted) {
    return failure(static_cast<ErrorCode>(answer[0]),
                   std::string(answer.data() + 1, static_cast<std::size_t>(count) - 1));
  }
  return open_file(fmt::format("/proc/{}/ns/mnt", maker.pid()), O_RDONLY);
}

Result<int> Starter::shared_root(const std::string& image) {
  if (pooling_ == Pooling::Off) return -1;
  const auto found = shared_roots_.find(image);
  if (found != shared_roots_.end()) return found->second.get();
  return shared_roots_.emplace(image, TRY(make_shared_root(image))).first->second.get();
}

std::vector<int> Starter::choose_cpus(const Limits& limits) const {
  std::vector<int> chosen;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (!pins_cpus(abilities_) || ::sched_getaffinity(0, sizeof set, &set) != 0) return chosen;
  const unsigned wanted = std::min(limits.millicpus / 1000, abilities_.cores);
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
                       "HOME=/workspace",
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
  return setup;
}

Result<ChildProcess> Starter::clone_into(const SandboxSpec& spec, NativeSandbox& sandbox,
                                         InitSetup setup, UniqueFd report) {
  EnterPlan plan;
  plan.privilege = abilities_.privilege;
  plan.ids =
      abilities_.privilege == Privilege::Root ? choose_host_ids(abilities_.privilege) : caller_;
  plan.image = spec.image;
  plan.limits = spec.limits;
  plan.network_namespace = sandbox.network ? sandbox.network->descriptor() : -1;
  plan.network_source = sandbox.network_source.get();
  plan.shared_root = TRY(shared_root(spec.image));
  plan.memory_wall = abilities_.cgroups.has_memory() ? MemoryWall::Cgroup : MemoryWall::PerProcess;
  plan.cpus = choose_cpus(spec.limits);
  plan.command_line = {program_invocation_name, command_line_bytes_};
  // Only where its absence was accepted by name: otherwise the step fails, and so does the start.
  plan.is_without_landlock =
      abilities_.landlock == 0 && std::find(spec.unsafe_without.begin(), spec.unsafe_without.end(),
                                            "landlock") != spec.unsafe_without.end();
  int cgroup_directory = -1;
  if (sandbox.cgroup) {
    cgroup_directory = sandbox.cgroup->clone_directory();
    plan.cgroup_joins = sandbox.cgroup->join_descriptors_after_clone();
  }
  ChildProcess child =
      TRY(clone_process(CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS, cgroup_directory));
  if (child.pid() != 0) return child;
  // While /proc still shows this process as its own.
  auto priority = open_file("/proc/self/oom_score_adj", O_WRONLY);
  if (priority) setup.memory_priority = std::move(*priority);
  auto entered = enter_sandbox(plan);
  if (entered) {
    entered = keep_only({setup.control.get(), setup.connection.get(), setup.oom_events.get(),
                         setup.memory_priority.get(), report.get()});
  }
  if (entered) entered = limit_open_files(spec.limits);
  const std::string answer = entered ? std::string(1, kStarted) : encode_error(entered.error());
  (void)write_all(report.get(), answer);  // who started us is gone, then so are we
  if (!entered) ::_exit(1);
  report.reset();
  ::_exit(entry_(std::move(setup)));
}

Result<NativeSandbox> Starter::start(const SandboxSpec& spec) {
  last_spec_ = spec;
  if (auto spare = TRY(take_spare(spec))) return std::move(*spare);
  InitSetup setup = make_setup(spec);
  UniqueFd ours;
  std::tie(ours, setup.connection) = TRY(make_socket_pair(SocketKind::Stream));
  NativeSandbox sandbox = TRY(start_anew(spec, std::move(setup)));
  sandbox.stream = std::move(ours);
  return sandbox;
}

Result<NativeSandbox> Starter::start_anew(const SandboxSpec& spec, InitSetup setup) {
  NativeSandbox sandbox;
  if (auto cgroup = TRY(take_cgroup(spec.limits))) sandbox.cgroup.emplace(std::move(*cgroup));
  sandbox.network = TRY(take_network());
  UniqueFd report;
  std::tie(sandbox.control, setup.control) = TRY(make_socket_pair(SocketKind::Packets));
  std::tie(sandbox.report, report) = TRY(make_socket_pair(SocketKind::Stream));
  if (sandbox.cgroup && abilities_.cgroups.has_memory()) {
    setup.oom_events = TRY(sandbox.cgroup->open_oom_events());
  }
  UniqueFd network_ours;
  if (!sandbox.network) {
    std::tie(network_ours, sandbox.network_source) = TRY(make_socket_pair(SocketKind::Packets));
  }
  sandbox.init = TRY(clone_into(spec, sandbox, std::move(setup), std::move(report)));
  sandbox.network_source.reset();
  if (network_ours) TRY(send_new_network_namespace(network_ours.get()));
  return sandbox;
}

// All protections of a spare are already on; it only learns its lifetime and environment now.
Result<std::optional<NativeSandbox>> Starter::take_spare(const SandboxSpec& spec) {
  const auto found = std::find_if(spares_.begin(), spares_.end(), [&](const Spare& spare) {
    return spare.spec.limits == spec.limits && spare.spec.image == spec.image &&
           spare.spec.unsafe_without == spec.unsafe_without;
  });
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
      send_packet(sandbox->control.get(), bytes, {theirs.get()})) {
    return sandbox;
  }
  finish(std::move(*sandbox));  // it died while it waited: one is made anew
  return std::optional<NativeSandbox>();
}

bool Starter::make_spare() {
  if (spares_.size() >= kSpares) return false;
  InitSetup setup = make_setup(last_spec_);
  setup.waits_for_orders = true;
  auto sandbox = start_anew(last_spec_, std::move(setup));
  if (!sandbox) return false;  // the next start will meet the same error and report it
  spares_.push_back({last_spec_, std::move(*sandbox)});
  return true;
}

Result<> Starter::wait_until_started(NativeSandbox& sandbox) {
  std::array<char, 4096> answer{};
  if (!TRY(wait_for(sandbox.report.get(), POLLIN, Deadline::in(kStartTime)))) {
    return failure(ErrorCode::DeadlineExceeded, "start the sandbox: it takes too long");
  }
  const ssize_t count = ::read(sandbox.report.get(), answer.data(), answer.size());
  if (count <= 0) return failure(ErrorCode::Internal, "start the sandbox: it died at once");
  if (answer[0] == kStarted) return {};
  return while_doing("start the sandbox",
                     {static_cast<ErrorCode>(answer[0]),
                      std::string(answer.data() + 1, static_cast<std::size_t>(count) - 1)});
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

void Starter::finish(NativeSandbox sandbox) {
  sandbox.init.kill_and_reap();  // the kernel ends the rest of the pid namespace first
  if (pooling_ == Pooling::Off) return;
  if (sandbox.cgroup && used_cgroups_.size() + free_cgroups_.size() < kMostFreePieces) {
    used_cgroups_.push_back(std::move(*sandbox.cgroup));
  }
  if (sandbox.network && used_networks_.size() + free_networks_.size() < kMostFreePieces) {
    used_networks_.push_back(std::move(*sandbox.network));
  }
}

bool Starter::prepare_one() {
  if (pooling_ == Pooling::Off) return false;
  if (clean_one_cgroup() || clean_one_network() || make_spare()) return true;
  if (free_networks_.size() < kReadyPieces) {
    auto network = NetworkNamespace::create(home_network_);
    if (!network) return false;  // the next start will meet the same error and report it
    free_networks_.push_back(std::move(*network));
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
