#include "backends/native/launcher/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "backends/native/cgroups/cgroup_places.h"
#include "backends/native/launcher/launcher_messages.h"
#include "backends/native/namespaces/network_refusals.h"
#include "base/file.h"
#include "base/socket.h"
#include "wire/codec.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::uint64_t kListenerKey = 0;
constexpr std::size_t kMostClients = 4096;
constexpr std::size_t kMostRemembered = 1024;

// How long a request may take.
constexpr auto kRestackTime = 10s;
constexpr auto kOperationTime = 5s;

constexpr auto kFirstRequestTime = 30s;
constexpr auto kLinger = 2s;
constexpr auto kIdleLook = 100ms;
constexpr auto kReapingLook = 20ms;
constexpr auto kLookAgain = 2ms;  // at a state that no descriptor reports

template <typename Maybe>
auto to_optional(const Maybe& result) {
  using Value = std::remove_cvref_t<decltype(*result)>;
  return result ? std::optional<Value>(*result) : std::nullopt;
}

void add_stats(const NativeSandbox& sandbox, LauncherReply& reply) {
  reply.init = static_cast<std::uint32_t>(sandbox.init.pid());
  reply.refusals.unreachable = to_optional(count_unreachable(sandbox.init.pid()));
  const std::optional<Cgroup>& cgroup = sandbox.cgroup;
  if (!cgroup) return;
  reply.refusals.memory_kills = to_optional(cgroup->oom_kills());
  reply.stats.memory_bytes = to_optional(cgroup->memory_bytes());
  reply.stats.peak_memory_bytes = to_optional(cgroup->peak_memory_bytes());
  reply.stats.processes = to_optional(cgroup->process_count());
  if (!sandbox.is_only_limited) reply.stats.cpu_time = to_optional(cgroup->cpu_time());
}

void set_error(LauncherReply& reply, const Error& error) {
  reply.code = error.code;
  reply.message = error.message;
}

}  // namespace

Result<Launcher> Launcher::create(RuntimeDirectory directory, InitEntry entry,
                                  saved::SaveEntry save, LauncherOrigin origin) {
  InstanceLock life = TRY(InstanceLock::take_for_life(directory));
  // The socket is made before the starter enters a user namespace, so that the caller owns it.
  ::unlink(directory.socket().c_str());
  UniqueFd listener = TRY(listen_on(directory.socket(), SocketKind::Packets));
  TRY(set_nonblocking(listener.get()));
  Starter starter = TRY(Starter::create(std::move(entry), Pooling::On));
  // If this fails, for example on a full disk, only a sweep from this cgroup finds the groups.
  (void)record_cgroup_places(directory, starter.abilities().cgroups);
  // 'nutshell gc' reports what cannot be removed.
  (void)sweep_all_cgroups(directory, starter.abilities().cgroups, SweepMode::Remove);
  UniqueFd events(::epoll_create1(EPOLL_CLOEXEC));
  if (!events) return syscall_failure("epoll_create1");
  Launcher launcher(std::move(directory), std::move(life), std::move(starter), std::move(listener),
                    std::move(events));
  launcher.save_ = std::move(save);
  launcher.origin_ = std::move(origin);
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

void Launcher::unwatch(int fd) const {
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, fd, nullptr);  // fails if it is not watched
}

Result<> Launcher::run() {
  bool has_had_sandbox = false;
  const Deadline first_request = Deadline::in(kFirstRequestTime);
  for (;;) {
    TRY(wait_once());
    const bool has_sandboxes = sandboxes_.size() > 0;
    has_had_sandbox = has_had_sandbox || has_sandboxes;
    const bool may_exit = has_had_sandbox || first_request.has_passed();
    const bool is_awaited = !out_of_memory_.empty() && !linger_.has_passed();
    const bool is_busy = has_sandboxes || !clients_.empty() || !pending_.empty();
    if (is_busy) leaves_ = Deadline::in(idle_time_);
    if (may_exit && !is_awaited && !is_busy && leaves_.has_passed() && exits_now()) return {};
  }
}

// Clients connect while they hold the lock. So once the launcher holds it and no connection waits,
// none can come.
bool Launcher::exits_now() {
  const auto lock = LauncherLock::try_take(directory_);
  // If the directory is gone, no client can find the launcher.
  if (!lock) return lock.error().code == ErrorCode::NotFound;
  pollfd waiting{listener_.get(), POLLIN, 0};
  if (::poll(&waiting, 1, 0) > 0) return false;
  ::unlink(directory_.socket().c_str());
  life_.release();  // so that the next launcher need not wait until this one has cleaned up
  return true;
}

Deadline Launcher::next_deadline() const {
  const auto first_end = sandboxes_.first_end();
  const Deadline idle = leaves_.has_passed() ? Deadline::in(kIdleLook) : leaves_;
  Deadline next = first_end ? Deadline::at(*first_end) : idle;
  for (const auto& [key, pending] : pending_)
    next = earlier(next, earlier(pending.deadline, pending.next_look));
  if (!killed_children_.empty() || !savers_.empty() || starter_.has_ending())
    next = earlier(next, Deadline::in(kReapingLook));
  if (!is_listening_) next = earlier(next, next_listening_);
  if (!quiet_until_.has_passed()) return earlier(next, quiet_until_);
  return earlier(next, starter_.next_preparation());
}

Result<> Launcher::wait_once() {
  std::array<epoll_event, 64> ready{};
  int count = ::epoll_wait(events_.get(), ready.data(), ready.size(), 0);
  // While idle, prepares something for the next start, and polls again at once.
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
  const auto id = sandboxes_.id_of(key);
  if (!id) return starter_.collect_ended();
  remember_out_of_memory(*id);
  (void)end_sandbox(*id, why_ended(*sandboxes_.find(*id), out_of_memory_.contains(*id)));
}

// A client whose command ended with its sandbox asks for the reason a moment later.
void Launcher::remember_out_of_memory(const std::string& id) {
  const KeptSandbox* kept = sandboxes_.find(id);
  if (kept == nullptr || !kept->sandbox.cgroup) return;
  const auto kills = kept->sandbox.cgroup->oom_kills();
  if (!kills || *kills == 0) return;
  if (out_of_memory_.size() >= kMostRemembered) out_of_memory_.clear();
  out_of_memory_.insert(id);
  linger_ = Deadline::in(kLinger);
}

// With too many clients, or no descriptor for another one, new connections wait in the listener's
// queue.
void Launcher::accept_client() {
  auto client = clients_.size() < kMostClients
                    ? accept_from(listener_.get())
                    : Result<UniqueFd>(failure(ErrorCode::ResourceExhausted, "too many clients"));
  if (!client) {
    unwatch(listener_.get());
    is_listening_ = false;
    next_listening_ = Deadline::in(kIdleLook);
    return;
  }
  const auto peer = peer_of(client->get());
  // The directory keeps other users out, but a socket can be passed on to one.
  if (!peer || peer->user != ::geteuid()) return;
  const std::uint64_t key = ++last_key_;
  if (watch(client->get(), key, EPOLLIN))
    clients_.emplace(key, Client{.socket = std::move(*client)});
}

void Launcher::drop_client(std::uint64_t key) {
  const auto found = clients_.find(key);
  if (found == clients_.end()) return;
  const auto waited = pending_.find(found->second.request);
  if (waited != pending_.end()) waited->second.client = 0;
  unreleased_.merge(found->second.unreleased);
  // Closing is not enough: epoll keeps the socket while a child just cloned has a copy of it.
  unwatch(found->second.socket.get());
  clients_.erase(found);
}

// While a client waits for its answer, its connection is watched only for hanging up.
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
  if (!request) {
    // A client of another version makes room for the launcher that it understands.
    if (packet && !packet->bytes.empty()) idle_time_ = 0ms;
    return drop_client(key);  // it has hung up, or sent no valid request
  }
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
  set_error(answer.reply, done.error());
  send_answer(key, answer);
}

// Drops a client that does not read its answers.
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
  found->second.request = 0;
  if (!std::exchange(found->second.is_muted, false)) return;
  if (!watch(found->second.socket.get(), key, EPOLLIN)) drop_client(key);
}

Result<> Launcher::answer_at_once(const LauncherRequest& request, LauncherReply& reply) {
  switch (request.operation) {
    case Operation::List:
      sandboxes_.list(request.id, reply);
      return {};
    case Operation::Environment:
      reply.environment = TRY(TRY(sandboxes_.require(request.id))->environment.show());
      return {};
    case Operation::Stats:
      add_stats(TRY(sandboxes_.require(request.id))->sandbox, reply);
      return {};
    case Operation::Why:
      reply.is_out_of_memory = out_of_memory_.contains(request.id) ? 1 : 0;
      return {};
    default:
      return failure(ErrorCode::Corrupt, "no such operation");
  }
}

Result<> Launcher::release(const std::string& id, std::uint64_t client) {
  TRY(sandboxes_.require(id));
  clients_.at(client).unreleased.erase(id);
  return {};
}

void Launcher::end_saver(const std::string& id, KeptSandbox& kept, const std::string& why) {
  // Replaces a saver that was killed, while the layers are still there.
  if (kept.saver.has_ended() && !why.empty()) (void)start_saver(id, kept);
  if (!kept.saver.is_started()) return;
  if (why.empty()) {
    kept.saver.discard();
  } else {
    kept.saver.save(why);
  }
  savers_.push_back(std::move(kept.saver));
}

UniqueFd Launcher::end_sandbox(const std::string& id, const std::string& why) {
  KeptSandbox* kept = sandboxes_.find(id);
  if (kept == nullptr) return {};
  end_saver(id, *kept, why);
  const auto requests = std::exchange(kept->requests, {});
  for (const std::uint64_t key : requests) {
    finish_request(key, failure(ErrorCode::NotFound, fmt::format("sandbox {} has ended", id)), {});
  }
  return starter_.finish(std::move(sandboxes_.remove(id).sandbox));
}

void Launcher::end_unreleased() {
  for (const std::string& id : std::exchange(unreleased_, {}))
    (void)end_sandbox(id, {});  // does nothing if the sandbox has ended already
}

void Launcher::end_overdue() {
  for (const std::string& id : sandboxes_.overdue(Clock::now()))
    (void)end_sandbox(id, "its ttl was over");
}

void Launcher::reap() {
  std::erase_if(killed_children_, [](ChildProcess& child) {
    const auto status = child.wait(Deadline::in(0ms));
    return !status || status->has_value();
  });
  std::erase_if(savers_, [](WorkspaceSaver& saver) { return saver.has_ended(); });
  if (starter_.has_ending()) starter_.collect_ended();
}

Stopping Launcher::stopping_of(const NativeSandbox& sandbox) const {
  const bool has_freezer =
      sandbox.cgroup && !sandbox.is_only_limited && starter_.abilities().cgroups.has_freezer();
  return has_freezer ? Stopping::ByFreezer : Stopping::ByInit;
}

void Launcher::stop(const std::string& id, std::uint64_t client) {
  const bool is_unreleased = unreleased_.contains(id) ||
                             std::any_of(clients_.begin(), clients_.end(), [&id](const auto& one) {
                               return one.second.unreleased.contains(id);
                             });
  UniqueFd last = end_sandbox(id, is_unreleased ? "" : "it was destroyed");
  quiet_until_ = Deadline::in(0s);
  if (!last) return send_answer(client, {});
  PendingRequest pending;
  pending.client = client;
  pending.request.operation = Operation::Stop;
  pending.request.id = id;
  pending.task = make_end_task(std::move(last));
  pending.deadline = Deadline::in(kEndTime);
  add_request(++last_key_, std::move(pending));
}

Result<> Launcher::enqueue(LauncherRequest request, std::uint64_t client) {
  KeptSandbox* kept = TRY(sandboxes_.require(request.id));
  if (kept->requests.size() >= kMostWaiting) return too_many_waiting(request.id);
  PendingRequest pending;
  pending.client = client;
  pending.id = request.id;
  pending.deadline =
      Deadline::in(request.operation == Operation::Restack ? kRestackTime : kOperationTime);
  pending.request = std::move(request);
  const std::uint64_t key = ++last_key_;
  kept->requests.push_back(key);
  const bool is_first = kept->requests.size() == 1;
  add_request(key, std::move(pending));
  if (is_first)
    begin_request(key);
  else
    mute(client);
  return {};
}

void Launcher::add_request(std::uint64_t key, PendingRequest pending) {
  const auto client = clients_.find(pending.client);
  if (client != clients_.end()) client->second.request = key;
  pending_.emplace(key, std::move(pending));
  proceed(key);
}

void Launcher::begin_request(std::uint64_t key) {
  PendingRequest& pending = pending_.at(key);
  auto task = make_task(pending.request, *sandboxes_.find(pending.id));  // it outlives its requests
  if (!task) return finish_request(key, Failure(std::move(task).error()), {});
  pending.task = std::move(*task);
  if (!pending.task) return finish_request(key, {}, {});  // there is nothing to do
  proceed(key);
}

Result<std::unique_ptr<LauncherTask>> Launcher::make_task(const LauncherRequest& request,
                                                          KeptSandbox& kept) const {
  const milliseconds left(static_cast<std::int64_t>(std::min(request.left_ms, kMostLeftMs)));
  switch (request.operation) {
    case Operation::Connect:
      if (!kept.is_paused) return make_connect_task(kept);
      return failure(
          ErrorCode::Unavailable,
          fmt::format("sandbox {0} is paused: resume it with 'nutshell resume {0}'", request.id));
    case Operation::Pause:
      if (kept.is_paused) return nullptr;
      return make_pause_task(kept, stopping_of(kept.sandbox));
    case Operation::Resume:
      if (!kept.is_paused) return nullptr;
      return make_resume_task(kept, stopping_of(kept.sandbox));
    case Operation::SetTimeLeft:
      if (!kept.is_paused) return make_time_task(kept, left);
      kept.left_at_resume = left;
      return nullptr;
    case Operation::Restack:
      return make_restack_task(
          TRY(starter_.begin_restack(kept.sandbox, kept.spec, request.layers)));
    default:
      return failure(ErrorCode::Corrupt, "no such operation");
  }
}

void Launcher::proceed(std::uint64_t key) {
  PendingRequest& pending = pending_.at(key);
  if (!pending.task) return;  // it waits for its turn
  LauncherAnswer answer;
  auto awaited = pending.task->proceed(answer);
  if (KeptSandbox* kept = sandboxes_.find(pending.id)) sandboxes_.update_end(*kept);
  Result<> done;
  if (!awaited) {
    done = Failure(std::move(awaited).error());
  } else if (*awaited) {
    done = await(key, pending, **awaited);
    if (done) return;
    pending.task->abandon();
  }
  finish_request(key, std::move(done), std::move(answer));
}

Result<> Launcher::await(std::uint64_t key, PendingRequest& pending, const Awaited& awaited) {
  mute(pending.client);
  if (pending.watched >= 0 && pending.watched != awaited.descriptor) unwatch(pending.watched);
  pending.watched = awaited.descriptor;
  pending.next_look = Deadline::never();
  if (awaited.descriptor >= 0) return watch(awaited.descriptor, key, awaited.events);
  pending.next_look = Deadline::in(kLookAgain);
  return {};
}

void Launcher::finish_request(std::uint64_t key, Result<> done, LauncherAnswer answer) {
  const auto found = pending_.find(key);
  if (found == pending_.end()) return;
  PendingRequest pending = std::move(found->second);
  pending_.erase(found);
  if (pending.watched >= 0) unwatch(pending.watched);
  if (pending.task) {
    ChildProcess child = pending.task->take_child();
    child.send_signal(SIGKILL);
    if (child.is_owned()) killed_children_.push_back(std::move(child));
    pending.task.reset();
  }
  if (!done) set_error(answer.reply, done.error());
  send_answer(pending.client, answer);
  const bool is_start = pending.request.operation == Operation::Start;
  // A one-shot command that is short has the CPU to itself.
  if (is_start && (pending.request.is_one_shot == 0 || !done)) quiet_until_ = Deadline::in(0s);
  if (is_start && done) finish_start(pending, answer.reply.id);
  KeptSandbox* kept = sandboxes_.find(pending.id);
  if (kept == nullptr) return;
  sandboxes_.update_end(*kept);
  auto& requests = kept->requests;
  const bool was_first = !requests.empty() && requests.front() == key;
  std::erase(requests, key);
  if (was_first && !requests.empty()) begin_request(requests.front());
}

// Handles passed deadlines, and states that no event reports.
void Launcher::look_again() {
  std::vector<std::uint64_t> late;
  std::vector<std::uint64_t> due;
  for (const auto& [key, pending] : pending_) {
    if (pending.deadline.has_passed())
      late.push_back(key);
    else if (pending.next_look.has_passed())
      due.push_back(key);
  }
  for (const std::uint64_t key : late) {
    const auto found = pending_.find(key);
    if (found == pending_.end()) continue;
    if (found->second.task) found->second.task->abandon();
    finish_request(key, deadline_failure(found->second.request), {});
  }
  for (const std::uint64_t key : due) {
    if (pending_.contains(key)) proceed(key);
  }
  if (is_listening_ || !next_listening_.has_passed()) return;
  is_listening_ = watch(listener_.get(), kListenerKey, EPOLLIN).has_value();
}

}  // namespace nutshell::native
