#include "backends/native/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random_id.h"
#include "base/socket.h"
#include "wire/codec.h"
#include "wire/init_client.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::size_t kMostSandboxes = 100'000;
constexpr std::size_t kMostClients = 256;
constexpr std::size_t kListPage = 32;
constexpr auto kGrace = 2s;  // init ends itself at the ttl; a silent one is ended this much later

}  // namespace

Result<Launcher> Launcher::create(RuntimeDirectory directory, InitEntry entry) {
  // Before the starter enters a user namespace: the socket belongs to the caller's world.
  ::unlink(directory.socket().c_str());
  UniqueFd listener = TRY(listen_on(directory.socket(), SocketKind::Packets));
  TRY(set_nonblocking(listener.get()));
  Starter starter = TRY(Starter::create(std::move(entry), Pooling::On));
  return Launcher(std::move(directory), std::move(starter), std::move(listener));
}

Result<> Launcher::run() {
  bool has_had_sandbox = false;
  const Deadline first_request = Deadline::in(30s);
  for (;;) {
    TRY(poll_once());
    has_had_sandbox = has_had_sandbox || !sandboxes_.empty();
    const bool may_leave = has_had_sandbox || first_request.has_passed();
    if (may_leave && sandboxes_.empty() && clients_.empty() && leaves_now()) return {};
  }
}

// Clients look for us under the lock: once we hold it and nobody waits, nobody can come.
bool Launcher::leaves_now() {
  const auto lock = LauncherLock::try_take(directory_);
  if (!lock) return false;
  pollfd waiting{listener_.get(), POLLIN, 0};
  if (::poll(&waiting, 1, 0) > 0) return false;
  ::unlink(directory_.socket().c_str());
  return true;
}

Deadline Launcher::next_deadline() const {
  Deadline next = sandboxes_.empty() ? Deadline::in(100ms) : Deadline::never();
  for (const auto& [id, kept] : sandboxes_)
    next = earlier(next, kept.deadline);
  return next;
}

Result<> Launcher::poll_once() {
  std::vector<pollfd> descriptors;
  descriptors.push_back({listener_.get(), POLLIN, 0});
  for (const UniqueFd& client : clients_)
    descriptors.push_back({client.get(), POLLIN, 0});
  const std::size_t first_sandbox = descriptors.size();
  for (const auto& [id, kept] : sandboxes_) {
    descriptors.push_back({kept.sandbox.init.descriptor(), POLLIN, 0});
  }
  int ready = ::poll(descriptors.data(), descriptors.size(), 0);
  // Nothing to do right now: make a piece ahead, and look again at once.
  if (ready == 0 && starter_.prepare_one()) return {};
  if (ready == 0)
    ready = ::poll(descriptors.data(), descriptors.size(), next_deadline().poll_timeout());
  if (ready < 0 && errno != EINTR) return syscall_failure("poll");
  std::vector<std::string> ended;
  std::size_t index = first_sandbox;
  for (const auto& [id, kept] : sandboxes_) {
    if (descriptors[index++].revents != 0) ended.push_back(id);
  }
  for (const std::string& id : ended)
    end(id);
  index = 1;
  for (UniqueFd& client : clients_) {
    if (descriptors[index++].revents != 0) serve(client);
  }
  clients_.remove_if([](const UniqueFd& client) { return !client.is_open(); });
  if (descriptors[0].revents != 0) accept_client();
  end_overdue();
  return {};
}

void Launcher::accept_client() {
  auto client = accept_from(listener_.get());
  if (!client || clients_.size() >= kMostClients) return;
  const auto peer = peer_of(client->get());
  // The directory keeps others out; a descriptor that was passed on does not.
  if (!peer || peer->user != ::geteuid()) return;
  clients_.push_back(std::move(*client));
}

void Launcher::serve(UniqueFd& client) {
  auto packet = receive_packet(client.get(), Deadline::in(0ms));
  if (!packet || packet->bytes.empty()) return client.reset();
  auto request = wire::decode<LauncherRequest>(packet->bytes);
  if (!request) return client.reset();
  std::vector<UniqueFd> descriptors;
  const LauncherReply reply = answer(*request, descriptors);
  std::vector<int> numbers;
  for (const UniqueFd& fd : descriptors)
    numbers.push_back(fd.get());
  if (!send_packet(client.get(), wire::encode(reply), numbers)) client.reset();
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
  }
  return failure(ErrorCode::Corrupt, "no such operation");
}

Result<> Launcher::start(const LauncherRequest& request, LauncherReply& reply) {
  if (sandboxes_.size() >= kMostSandboxes) {
    return failure(ErrorCode::ResourceExhausted, "too many sandboxes: destroy some first");
  }
  const SandboxSpec spec = unpack(request.spec);
  NativeSandbox sandbox = TRY(starter_.start(spec));
  auto started = Starter::wait_until_started(sandbox);
  sandbox.report.reset();
  if (!started) {
    starter_.finish(std::move(sandbox));
    return started;
  }
  reply.id = random_id(12);
  sandboxes_.emplace(reply.id, Kept{spec, std::move(sandbox), Clock::now(),
                                    Deadline::in(spec.ttl + milliseconds(kGrace)), false});
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
  sandboxes_.erase(found);
  starter_.finish(std::move(sandbox));
}

void Launcher::end_overdue() {
  std::vector<std::string> overdue;
  for (const auto& [id, kept] : sandboxes_) {
    if (kept.deadline.has_passed()) overdue.push_back(id);
  }
  for (const std::string& id : overdue)
    end(id);
}

// The cgroup's freezer, or, where there is none, init stops every process by signal.
Result<> Launcher::pause(Kept& kept) {
  if (kept.is_paused) return {};
  if (kept.sandbox.cgroup && starter_.abilities().cgroups.has_freezer()) {
    TRY(kept.sandbox.cgroup->freeze(Deadline::in(5s)));
  } else {
    wire::InitClient client(TRY(Starter::connect(kept.sandbox)));
    TRY(client.suspend());
  }
  kept.is_paused = true;
  return {};
}

Result<> Launcher::resume(Kept& kept) {
  if (!kept.is_paused) return {};
  if (kept.sandbox.cgroup && starter_.abilities().cgroups.has_freezer()) {
    TRY(kept.sandbox.cgroup->thaw(Deadline::in(5s)));
  } else {
    wire::InitClient client(TRY(Starter::connect(kept.sandbox)));
    TRY(client.resume());
  }
  kept.is_paused = false;
  return {};
}

void Launcher::list(const LauncherRequest& request, LauncherReply& reply) const {
  reply.total = static_cast<std::uint32_t>(sandboxes_.size());
  auto item = sandboxes_.begin();
  for (std::uint32_t i = 0; i < request.first && item != sandboxes_.end(); ++i)
    ++item;
  for (; item != sandboxes_.end() && reply.sandboxes.size() < kListPage; ++item) {
    const Kept& kept = item->second;
    const auto age = std::chrono::duration_cast<milliseconds>(Clock::now() - kept.started);
    const auto left = std::max(milliseconds(0), kept.spec.ttl - age);
    PackedStatus status;
    status.id = item->first;
    status.spec = pack(kept.spec);
    status.spec.environment.clear();  // may hold secrets; nobody needs to read them back
    status.is_paused = kept.is_paused ? 1 : 0;
    status.age_ms = static_cast<std::uint64_t>(age.count());
    status.left_ms = static_cast<std::uint64_t>(left.count());
    reply.sandboxes.push_back(std::move(status));
  }
}

}  // namespace nutshell::native
