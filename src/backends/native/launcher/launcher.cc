#include "backends/native/launcher/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>

#include "backends/native/cgroups/cgroup_places.h"
#include "backends/native/namespaces/network_refusals.h"
#include "base/file.h"
#include "base/socket.h"
#include "core/sandbox_id.h"
#include "wire/codec.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::uint64_t kListenerKey = 0;
constexpr std::size_t kMostSandboxes = 100'000;
constexpr std::size_t kMostClients = 4096;
constexpr std::size_t kMostRemembered = 1024;
constexpr auto kLinger = 2s;
constexpr std::size_t kListPage = 32;
constexpr std::size_t kMostListBytes = kMostPacketBytes / 2;
constexpr std::uint64_t kMostLeftMs = 1ULL << 40U;
constexpr auto kIdleLook = 100ms;
constexpr auto kReapingLook = 20ms;

// Without a group nobody counts; a peak that cannot be had is not there either.
template <typename Maybe>
auto value_of(const Maybe& result) {
  using Value = std::remove_cvref_t<decltype(*result)>;
  return result ? std::optional<Value>(*result) : std::nullopt;
}

void add_stats(const NativeSandbox& sandbox, LauncherReply& reply) {
  reply.init = static_cast<std::uint32_t>(sandbox.init.pid());
  reply.refusals.unreachable = value_of(count_unreachable(sandbox.init.pid()));
  const std::optional<Cgroup>& cgroup = sandbox.cgroup;
  if (!cgroup) return;
  reply.refusals.memory_kills = value_of(cgroup->oom_kills());
  reply.stats.memory_bytes = value_of(cgroup->memory_bytes());
  reply.stats.peak_memory_bytes = value_of(cgroup->peak_memory_bytes());
  reply.stats.processes = value_of(cgroup->process_count());
  if (!sandbox.is_only_limited) reply.stats.cpu_time = value_of(cgroup->cpu_time());
}

}  // namespace

Result<Launcher> Launcher::create(RuntimeDirectory directory, InitEntry entry) {
  LifeLock life = TRY(LifeLock::take_for_life(directory));
  // Before the starter enters a user namespace: the socket belongs to the caller's world.
  ::unlink(directory.socket().c_str());
  UniqueFd listener = TRY(listen_on(directory.socket(), SocketKind::Packets));
  TRY(set_nonblocking(listener.get()));
  Starter starter = TRY(Starter::create(std::move(entry), Pooling::On));
  // Without a record, on a full disk, a sweep from this cgroup still finds what is left here.
  (void)record_cgroup_places(directory, starter.abilities().cgroups);
  // gc reports what stays.
  (void)sweep_all_cgroups(directory, starter.abilities().cgroups, SweepMode::Remove);
  UniqueFd events(::epoll_create1(EPOLL_CLOEXEC));
  if (!events) return syscall_failure("epoll_create1");
  Launcher launcher(std::move(directory), std::move(life), std::move(starter), std::move(listener),
                    std::move(events));
  TRY(launcher.watch(launcher.listener_.get(), kListenerKey, EPOLLIN));
  return launcher;
}

Result<> Launcher::watch(int fd, std::uint64_t key, std::uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  if (errno == EEXIST && ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, fd, &event) == 0) return {};
  return syscall_failure("epoll_ctl");
}

Result<> Launcher::run() {
  bool has_had_sandbox = false;
  const Deadline first_request = Deadline::in(30s);
  for (;;) {
    TRY(wait_once());
    has_had_sandbox = has_had_sandbox || !sandboxes_.empty();
    const bool may_leave = has_had_sandbox || first_request.has_passed();
    const bool is_awaited = !out_of_memory_.empty() && !linger_.has_passed();
    const bool is_busy = !sandboxes_.empty() || !clients_.empty() || !pending_.empty();
    if (may_leave && !is_awaited && !is_busy && leaves_now()) return {};
  }
}

// Clients look for us under the lock: once we hold it and nobody waits, nobody can come.
bool Launcher::leaves_now() {
  const auto lock = LauncherLock::try_take(directory_);
  // With the directory gone nobody can find us any more.
  if (!lock) return lock.error().code == ErrorCode::NotFound;
  pollfd waiting{listener_.get(), POLLIN, 0};
  if (::poll(&waiting, 1, 0) > 0) return false;
  ::unlink(directory_.socket().c_str());
  life_.release();  // the next launcher need not wait until this one has cleaned up
  return true;
}

Deadline Launcher::next_deadline() const {
  Deadline next = ends_.empty() ? Deadline::in(kIdleLook) : Deadline::at(ends_.begin()->first);
  for (const auto& [key, pending] : pending_)
    next = earlier(next, earlier(pending.deadline, pending.next_look));
  if (!leaving_.empty() || starter_.has_ending()) next = earlier(next, Deadline::in(kReapingLook));
  if (!is_listening_) next = earlier(next, next_listening_);
  if (!quiet_until_.has_passed()) return earlier(next, quiet_until_);
  return earlier(next, starter_.next_preparation());
}

Result<> Launcher::wait_once() {
  std::array<epoll_event, 64> ready{};
  int count = ::epoll_wait(events_.get(), ready.data(), ready.size(), 0);
  // Nothing to do right now: make a piece ahead, and look again at once.
  const bool has_time = count == 0 && quiet_until_.has_passed();
  if (has_time && starter_.prepare_one())
    count = 0;
  else if (count == 0)
    count = ::epoll_wait(events_.get(), ready.data(), ready.size(), next_deadline().poll_timeout());
  if (count < 0 && errno != EINTR) return syscall_failure("epoll_wait");
  for (int i = 0; i < count; ++i)
    handle(ready[static_cast<std::size_t>(i)].data.u64);
  look_again();
  end_overdue();
  end_unreleased();
  reap();
  return {};
}

void Launcher::handle(std::uint64_t key) {
  if (key == kListenerKey) return accept_client();
  if (clients_.contains(key)) return serve(key);
  if (pending_.contains(key)) return proceed(key);
  const auto ended = ids_.find(key);
  if (ended == ids_.end()) return starter_.collect_ended();
  const std::string id = ended->second;
  note_death(id);
  (void)end(id);
}

// A client whose command was lost with its sandbox asks why a moment later.
void Launcher::note_death(const std::string& id) {
  const auto& cgroup = sandboxes_.at(id).sandbox.cgroup;
  const auto kills = cgroup ? cgroup->oom_kills() : Result<std::uint64_t>(0);
  if (!kills || *kills == 0) return;
  if (out_of_memory_.size() >= kMostRemembered) out_of_memory_.clear();
  out_of_memory_.insert(id);
  linger_ = Deadline::in(kLinger);
}

// With too many clients, or no descriptor for another one, those that come wait in the listener's
// queue until one has left.
void Launcher::accept_client() {
  auto client = clients_.size() < kMostClients
                    ? accept_from(listener_.get())
                    : Result<UniqueFd>(failure(ErrorCode::ResourceExhausted, "full"));
  if (!client) {
    (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
    is_listening_ = false;
    next_listening_ = Deadline::in(kIdleLook);
    return;
  }
  const auto peer = peer_of(client->get());
  // The directory keeps others out; a descriptor that was passed on does not.
  if (!peer || peer->user != ::geteuid()) return;
  const std::uint64_t key = ++last_key_;
  if (watch(client->get(), key, EPOLLIN))
    clients_.emplace(key, Client{.socket = std::move(*client)});
}

void Launcher::drop_client(std::uint64_t key) {
  const auto found = clients_.find(key);
  if (found == clients_.end()) return;
  const auto waited = pending_.find(found->second.operation);
  if (waited != pending_.end()) waited->second.client = 0;
  unreleased_.merge(found->second.unreleased);
  // By name: a child that was just cloned may have a copy, and with it the socket would stay here.
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, found->second.socket.get(), nullptr);
  clients_.erase(found);
}

// A client that waits for its answer is watched for nothing but its end.
void Launcher::mute(std::uint64_t client) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || found->second.is_muted) return;
  if (!watch(found->second.socket.get(), client, 0)) return drop_client(client);
  found->second.is_muted = true;
}

void Launcher::serve(std::uint64_t key) {
  Client& client = clients_[key];
  if (client.is_muted) return drop_client(key);  // it has hung up
  auto packet = receive_packet(client.socket.get(), Deadline::in(0ms));
  auto request = packet ? wire::decode<LauncherRequest>(packet->bytes)
                        : Result<LauncherRequest>(Failure(packet.error()));
  if (!request) return drop_client(key);  // gone, or not speaking our language
  LauncherAnswer answer;
  Result<> done;
  switch (request->operation) {
    case Operation::Start:
      done = start(*request, key);
      break;
    case Operation::Stop:
      return stop(request->id, key);
    case Operation::Release:
      done = release(request->id, key);
      if (done) return send_answer(key, answer);
      break;
    case Operation::Connect:
    case Operation::Pause:
    case Operation::Resume:
    case Operation::SetTimeLeft:
    case Operation::Restack:
      done = enqueue(std::move(*request), key);
      break;
    default:
      done = answer_at_once(*request, answer.reply);
      if (done) return send_answer(key, answer);
  }
  if (done) return;
  answer.reply.code = done.error().code;
  answer.reply.message = done.error().message;
  send_answer(key, answer);
}

// A client that does not read its answers is dropped.
void Launcher::send_answer(std::uint64_t key, const LauncherAnswer& answer) {
  const auto found = clients_.find(key);
  if (found == clients_.end()) return;
  std::vector<int> numbers;
  numbers.reserve(answer.descriptors.size());
  for (const UniqueFd& fd : answer.descriptors)
    numbers.push_back(fd.get());
  const auto sent =
      try_send_packet(found->second.socket.get(), wire::encode(answer.reply), numbers);
  if (!sent.value_or(false)) return drop_client(key);
  found->second.operation = 0;
  if (!std::exchange(found->second.is_muted, false)) return;
  if (!watch(found->second.socket.get(), key, EPOLLIN)) drop_client(key);
}

Result<> Launcher::answer_at_once(const LauncherRequest& request, LauncherReply& reply) {
  switch (request.operation) {
    case Operation::List:
      list(request, reply);
      return {};
    case Operation::Environment:
      reply.environment = TRY(TRY(find(request.id))->environment.show());
      return {};
    case Operation::Stats:
      add_stats(TRY(find(request.id))->sandbox, reply);
      return {};
    case Operation::Why:
      reply.is_out_of_memory = out_of_memory_.contains(request.id) ? 1 : 0;
      return {};
    default:
      return failure(ErrorCode::Corrupt, "no such operation");
  }
}

Result<std::string> Launcher::keep(NativeSandbox sandbox, SandboxSpec spec) {
  HiddenEnvironment environment;
  auto kept = Starter::put_aside(sandbox);
  if (kept) kept = environment.hide(std::exchange(spec.environment, {}));
  const std::uint64_t key = ++last_key_;
  if (kept && sandboxes_.size() >= kMostSandboxes)
    kept = failure(ErrorCode::ResourceExhausted, "too many sandboxes: destroy some first");
  if (kept) kept = watch(sandbox.init.descriptor(), key, EPOLLIN);
  if (!kept) {
    (void)starter_.finish(std::move(sandbox));
    return Failure(std::move(kept).error());
  }
  std::string id = new_sandbox_id(kIdLetter);
  ids_.emplace(key, id);
  const auto ttl = std::min(spec.ttl, milliseconds(static_cast<std::int64_t>(kMostLeftMs)));
  KeptSandbox added{.key = key,
                    .spec = std::move(spec),
                    .environment = std::move(environment),
                    .sandbox = std::move(sandbox),
                    .started = Clock::now(),
                    .ttl_end = {},
                    .end = {},
                    .noted_end = {},
                    .operations = {}};
  added.move_end(ttl);
  note_end(sandboxes_.emplace(id, std::move(added)).first->second);
  return id;
}

void Launcher::note_end(KeptSandbox& kept) {
  if (kept.noted_end == kept.end) return;
  ends_.erase({kept.noted_end, kept.key});
  ends_.emplace(kept.end, kept.key);
  kept.noted_end = kept.end;
}

Result<KeptSandbox*> Launcher::find(const std::string& id) {
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end()) {
    return failure(ErrorCode::NotFound,
                   fmt::format("no sandbox '{}': 'nutshell list' shows those there are", id));
  }
  return &found->second;
}

// Returns what is readable once nothing of it is alive; closed if nothing but its init is now.
UniqueFd Launcher::end(const std::string& id) {
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end()) return {};
  const auto operations = std::exchange(found->second.operations, {});
  for (const std::uint64_t key : operations) {
    settle(key, failure(ErrorCode::NotFound, fmt::format("sandbox {} has ended", id)), {});
  }
  NativeSandbox sandbox = std::move(found->second.sandbox);
  ids_.erase(found->second.key);
  ends_.erase({found->second.noted_end, found->second.key});
  sandboxes_.erase(found);
  return starter_.finish(std::move(sandbox));
}

void Launcher::end_unreleased() {
  for (const std::string& id : std::exchange(unreleased_, {}))
    (void)end(id);  // one that has ended already is not found
}

Result<> Launcher::release(const std::string& id, std::uint64_t client) {
  TRY(find(id));
  clients_.at(client).unreleased.erase(id);
  return {};
}

void Launcher::end_overdue() {
  const auto now = Clock::now();
  while (!ends_.empty() && ends_.begin()->first <= now)
    (void)end(std::string(ids_.at(ends_.begin()->second)));
}

void Launcher::reap() {
  std::erase_if(leaving_, [](ChildProcess& child) {
    const auto status = child.wait(Deadline::in(0ms));
    return !status || status->has_value();
  });
  if (starter_.has_ending()) starter_.collect_ended();
}

Stopping Launcher::stopping_of(const NativeSandbox& sandbox) const {
  const bool has_freezer =
      sandbox.cgroup && !sandbox.is_only_limited && starter_.abilities().cgroups.has_freezer();
  return has_freezer ? Stopping::ByFreezer : Stopping::ByInit;
}

void Launcher::list(const LauncherRequest& request, LauncherReply& reply) const {
  auto item = sandboxes_.upper_bound(request.id);
  std::size_t bytes = 0;
  for (; item != sandboxes_.end() && reply.sandboxes.size() < kListPage; ++item) {
    const KeptSandbox& kept = item->second;
    const auto age = std::chrono::duration_cast<milliseconds>(Clock::now() - kept.started);
    const auto left = kept.time_left();
    SandboxStatus status;
    status.id = item->first;
    status.spec = kept.spec;
    status.state = kept.is_paused ? SandboxState::Paused : SandboxState::Running;
    status.age = age;
    status.time_left = left;
    status.why_copied = kept.sandbox.why_copied;
    bytes += wire::encode(status).size();
    if (!reply.sandboxes.empty() && bytes > kMostListBytes) break;
    reply.sandboxes.push_back(std::move(status));
  }
  reply.has_more = item != sandboxes_.end() ? 1 : 0;
}

}  // namespace nutshell::native
