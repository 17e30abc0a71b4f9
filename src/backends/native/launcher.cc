#include "backends/native/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "backends/native/cgroup_sweep.h"
#include "backends/native/network_refusals.h"
#include "base/file.h"
#include "base/random_id.h"
#include "base/socket.h"
#include "wire/codec.h"
#include "wire/init_client.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::uint64_t kListenerKey = 0;
constexpr std::size_t kMostSandboxes = 100'000;
constexpr std::size_t kMostClients = 256;
constexpr std::size_t kMostRemembered = 1024;
constexpr auto kLinger = 2s;
constexpr std::size_t kListPage = 32;
constexpr auto kLongestPause = 24h;
constexpr std::uint64_t kMostLeftMs = 1ULL << 40U;
constexpr auto kGrace = 2s;  // init ends itself at the ttl; a silent one is ended this much later

// Without a group nobody counts; a peak that cannot be had is not there either.
PackedStats stats_of(const NativeSandbox& sandbox) {
  PackedStats stats;
  stats.unreachable = count_unreachable(sandbox.init.pid()).value_or(PackedStats::kNotCounted);
  const std::optional<Cgroup>& cgroup = sandbox.cgroup;
  if (!cgroup) return stats;
  stats.memory_kills = cgroup->oom_kills().value_or(PackedStats::kNotCounted);
  stats.memory_bytes = cgroup->memory_bytes().value_or(PackedStats::kNotCounted);
  stats.peak_memory_bytes = cgroup->peak_memory_bytes().value_or(PackedStats::kNotCounted);
  const auto cpu = cgroup->cpu_time();
  if (cpu && !sandbox.is_only_limited) stats.cpu_us = static_cast<std::uint64_t>(cpu->count());
  if (const auto count = cgroup->process_count()) stats.processes = *count;
  return stats;
}

}  // namespace

Result<Launcher> Launcher::create(RuntimeDirectory directory, InitEntry entry) {
  // Before the starter enters a user namespace: the socket belongs to the caller's world.
  ::unlink(directory.socket().c_str());
  UniqueFd listener = TRY(listen_on(directory.socket(), SocketKind::Packets));
  TRY(set_nonblocking(listener.get()));
  Starter starter = TRY(Starter::create(std::move(entry), Pooling::On));
  (void)sweep_cgroups(starter.abilities().cgroups, SweepMode::Remove);  // gc reports what stays
  UniqueFd events(::epoll_create1(EPOLL_CLOEXEC));
  if (!events) return syscall_failure("epoll_create1");
  Launcher launcher(std::move(directory), std::move(starter), std::move(listener),
                    std::move(events));
  TRY(launcher.watch(launcher.listener_.get(), kListenerKey));
  return launcher;
}

Result<> Launcher::watch(int fd, std::uint64_t key) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = key;
  if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return syscall_failure("epoll_ctl");
  return {};
}

Result<> Launcher::run() {
  bool has_had_sandbox = false;
  const Deadline first_request = Deadline::in(30s);
  for (;;) {
    TRY(wait_once());
    has_had_sandbox = has_had_sandbox || !sandboxes_.empty();
    const bool may_leave = has_had_sandbox || first_request.has_passed();
    const bool is_awaited = !out_of_memory_.empty() && !linger_.has_passed();
    if (may_leave && !is_awaited && sandboxes_.empty() && clients_.empty() && leaves_now())
      return {};
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
  return true;
}

Deadline Launcher::next_deadline() const {
  return ends_.empty() ? Deadline::in(100ms) : Deadline::at(ends_.begin()->first);
}

Result<> Launcher::wait_once() {
  std::array<epoll_event, 64> ready{};
  int count = ::epoll_wait(events_.get(), ready.data(), ready.size(), 0);
  // Nothing to do right now: make a piece ahead, and look again at once.
  if (count == 0 && starter_.prepare_one()) return {};
  if (count == 0) {
    count = ::epoll_wait(events_.get(), ready.data(), ready.size(), next_deadline().poll_timeout());
  }
  if (count < 0 && errno != EINTR) return syscall_failure("epoll_wait");
  for (int i = 0; i < count; ++i)
    handle(ready[static_cast<std::size_t>(i)].data.u64);
  end_overdue();
  return {};
}

void Launcher::handle(std::uint64_t key) {
  if (key == kListenerKey) return accept_client();
  if (clients_.contains(key)) return serve(key);
  const auto ended = ids_.find(key);
  if (ended == ids_.end()) return starter_.collect_ended();
  const std::string id = ended->second;
  note_death(id);
  end(id);
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

void Launcher::accept_client() {
  auto client = accept_from(listener_.get());
  if (!client || clients_.size() >= kMostClients) return;
  const auto peer = peer_of(client->get());
  // The directory keeps others out; a descriptor that was passed on does not.
  if (!peer || peer->user != ::geteuid()) return;
  const std::uint64_t key = ++last_key_;
  if (watch(client->get(), key)) clients_.emplace(key, std::move(*client));
}

void Launcher::serve(std::uint64_t key) {
  UniqueFd& client = clients_[key];
  auto packet = receive_packet(client.get(), Deadline::in(0ms));
  auto request = packet ? wire::decode<LauncherRequest>(packet->bytes)
                        : Result<LauncherRequest>(Failure(packet.error()));
  if (!request) {  // gone, or not speaking our language
    clients_.erase(key);
    return;
  }
  std::vector<UniqueFd> descriptors;
  const LauncherReply reply = answer(*request, descriptors);
  std::vector<int> numbers;
  numbers.reserve(descriptors.size());
  for (const UniqueFd& fd : descriptors)
    numbers.push_back(fd.get());
  if (!send_packet(client.get(), wire::encode(reply), numbers)) clients_.erase(key);
}

LauncherReply Launcher::answer(const LauncherRequest& request, std::vector<UniqueFd>& descriptors) {
  LauncherReply reply;
  auto done = act(request, reply, descriptors);
  if (done) return reply;
  reply.code = static_cast<std::uint8_t>(done.error().code);
  reply.message = done.error().message;
  return reply;
}

Result<> Launcher::act(const LauncherRequest& request, LauncherReply& reply,
                       std::vector<UniqueFd>& descriptors) {
  switch (request.operation) {
    case Operation::Start:
      return start(request, reply);
    case Operation::Connect: {
      Kept* kept = TRY(find(request.id));
      if (kept->is_paused) {
        return failure(ErrorCode::Unavailable,
                       fmt::format("sandbox {0} is paused: nutshell resume {0}", request.id));
      }
      descriptors.push_back(TRY(Starter::connect(kept->sandbox)));
      return {};
    }
    case Operation::Stop:
      end(request.id);
      return {};
    case Operation::List:
      list(request, reply);
      return {};
    case Operation::Pause:
      return pause(*TRY(find(request.id)));
    case Operation::Resume:
      return resume(*TRY(find(request.id)));
    case Operation::SetTimeLeft:
      return move_end(*TRY(find(request.id)), request.left_ms);
    case Operation::Restack: {
      const Kept* kept = TRY(find(request.id));
      return starter_.restack(kept->sandbox, kept->spec, request.layers);
    }
    case Operation::Environment:
      reply.environment = TRY(TRY(find(request.id))->environment.show());
      return {};
    case Operation::Stats:
      reply.stats = stats_of(TRY(find(request.id))->sandbox);
      return {};
    case Operation::Why:
      reply.is_out_of_memory = out_of_memory_.contains(request.id) ? 1 : 0;
      return {};
  }
  return failure(ErrorCode::Corrupt, "no such operation");
}

Result<> Launcher::start(const LauncherRequest& request, LauncherReply& reply) {
  if (sandboxes_.size() >= kMostSandboxes) {
    return failure(ErrorCode::ResourceExhausted, "too many sandboxes: destroy some first");
  }
  SandboxSpec spec = unpack(request.spec);
  NativeSandbox sandbox = TRY(starter_.start(spec));
  auto started = Starter::wait_until_started(sandbox);
  sandbox.report.reset();
  if (started) started = Starter::put_aside(sandbox);
  HiddenEnvironment environment;
  if (started) started = environment.hide(std::exchange(spec.environment, {}));
  if (!started) {
    starter_.finish(std::move(sandbox));
    return started;
  }
  const std::uint64_t key = ++last_key_;
  TRY(watch(sandbox.init.descriptor(), key));
  reply.id = random_id(12);
  ids_.emplace(key, reply.id);
  const auto now = Clock::now();
  const auto ttl = std::min(spec.ttl, milliseconds(static_cast<std::int64_t>(kMostLeftMs)));
  ends_.emplace(now + ttl + kGrace, key);
  sandboxes_.emplace(reply.id,
                     Kept{key, std::move(spec), std::move(environment), std::move(sandbox), now,
                          now + ttl, now + ttl + kGrace, false, milliseconds(0)});
  return {};
}

milliseconds Launcher::time_left(const Kept& kept) {
  if (kept.is_paused) return kept.left_at_resume;
  const auto left = std::chrono::duration_cast<milliseconds>(kept.ttl_end - Clock::now());
  return std::max(milliseconds(0), left);
}

Result<> Launcher::move_end(Kept& kept, std::uint64_t left_ms) {
  const milliseconds left(static_cast<std::int64_t>(std::min(left_ms, kMostLeftMs)));
  if (!kept.is_paused) return set_time_left(kept, left);
  kept.left_at_resume = left;
  return {};
}

// Init first: what it does not hear of ends at the time that it knows.
Result<> Launcher::set_time_left(Kept& kept, milliseconds left) {
  const auto count = static_cast<std::uint64_t>(std::max(milliseconds(0), left).count());
  std::string packet(1 + sizeof count, kNewTimeLeft);
  std::memcpy(packet.data() + 1, &count, sizeof count);
  TRY(send_packet(kept.sandbox.control.get(), packet));
  kept.ttl_end = Clock::now() + left;
  ends_.erase({kept.end, kept.key});
  kept.end = kept.ttl_end + kGrace;
  ends_.emplace(kept.end, kept.key);
  return {};
}

Result<Launcher::Kept*> Launcher::find(const std::string& id) {
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end()) {
    return failure(ErrorCode::NotFound,
                   fmt::format("no sandbox '{}': 'nutshell list' shows those there are", id));
  }
  return &found->second;
}

void Launcher::end(const std::string& id) {
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end()) return;
  NativeSandbox sandbox = std::move(found->second.sandbox);
  ids_.erase(found->second.key);
  ends_.erase({found->second.end, found->second.key});
  sandboxes_.erase(found);
  starter_.finish(std::move(sandbox));
}

void Launcher::end_overdue() {
  const auto now = Clock::now();
  while (!ends_.empty() && ends_.begin()->first <= now)
    end(std::string(ids_.at(ends_.begin()->second)));
}

// The ttl stands still, but one that nobody ever resumes is not kept for good.
Result<> Launcher::pause(Kept& kept) {
  if (kept.is_paused) return {};
  const milliseconds left = time_left(kept);
  TRY(set_time_left(kept, milliseconds(kLongestPause)));
  auto frozen = freeze(kept);
  if (!frozen) {
    TRY(set_time_left(kept, left));
    return frozen;
  }
  kept.is_paused = true;
  kept.left_at_resume = left;
  return {};
}

bool Launcher::has_freezer(const NativeSandbox& sandbox) const {
  return sandbox.cgroup && !sandbox.is_only_limited && starter_.abilities().cgroups.has_freezer();
}

// The cgroup's freezer, or, where there is none, init stops every process by signal.
Result<> Launcher::freeze(Kept& kept) {
  if (has_freezer(kept.sandbox)) {
    TRY(kept.sandbox.cgroup->freeze(Deadline::in(5s)));
  } else {
    wire::InitClient client(TRY(Starter::connect(kept.sandbox)));
    TRY(client.suspend());
  }
  return {};
}

Result<> Launcher::resume(Kept& kept) {
  if (!kept.is_paused) return {};
  if (has_freezer(kept.sandbox)) {
    TRY(kept.sandbox.cgroup->thaw(Deadline::in(5s)));
  } else {
    wire::InitClient client(TRY(Starter::connect(kept.sandbox)));
    TRY(client.resume());
  }
  kept.is_paused = false;
  return set_time_left(kept, kept.left_at_resume);
}

void Launcher::list(const LauncherRequest& request, LauncherReply& reply) const {
  auto item = sandboxes_.upper_bound(request.id);
  for (; item != sandboxes_.end() && reply.sandboxes.size() < kListPage; ++item) {
    const Kept& kept = item->second;
    const auto age = std::chrono::duration_cast<milliseconds>(Clock::now() - kept.started);
    const auto left = time_left(kept);
    PackedStatus status;
    status.id = item->first;
    status.spec = pack(kept.spec);
    status.is_paused = kept.is_paused ? 1 : 0;
    status.age_ms = static_cast<std::uint64_t>(age.count());
    status.left_ms = static_cast<std::uint64_t>(left.count());
    status.why_copied = kept.sandbox.why_copied;
    reply.sandboxes.push_back(std::move(status));
  }
  reply.has_more = item != sandboxes_.end() ? 1 : 0;
}

}  // namespace nutshell::native
