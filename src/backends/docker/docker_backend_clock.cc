// The clock of a sandbox in a container: init keeps it, and is told of every change through a
// connection. An engine can freeze a container, but no clock.
#include <algorithm>

#include "backends/docker/docker_backend.h"
#include "backends/docker/kept_clock.h"
#include "wire/init_client.h"
#include "wire/schema.h"

namespace nutshell::docker {
namespace {

using std::chrono::milliseconds;

// One that nobody ever resumes is not kept for good.
constexpr milliseconds kLongestPause{24LL * 3600 * 1000};

}  // namespace

// The first connection is somebody else's to have.
Result<wire::InitClient> DockerBackend::init_of(const std::string& id) {
  if (auto known = connect_without_engine(id)) return wire::InitClient(std::move(*known));
  TRY(engine_with_sandboxes());
  auto stream = connect_directly(id);
  return wire::InitClient(stream ? std::move(*stream) : TRY(open_bridge(id)));
}

Result<> DockerBackend::tell_time_left(const std::string& id, milliseconds left) {
  wire::InitClient init = TRY(init_of(id));
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 0));
  TRY(init.call<wire::Done>(wire::SetTimeLeft{count}));
  return {};
}

Result<milliseconds> DockerBackend::time_left(const std::string& id) {
  if (const auto clock = kept_clock(id)) return clock->left_at(milliseconds_now());
  for (const Found& one : TRY(find_all())) {
    if (one.remembered.id == id)
      return std::max(one.remembered.expires_at - milliseconds_now(), milliseconds(0));
  }
  return failure(ErrorCode::NotFound, "no sandbox " + id);
}

Result<> DockerBackend::set_time_left(const std::string& id, milliseconds left) {
  const auto clock = kept_clock(id);
  if (clock && clock->is_still()) return keep_clock(id, {clock->over_at, left, clock->is_halted});
  // The later of both while it is being told: whoever sweeps meanwhile takes nothing that lives.
  const auto over_at = milliseconds_now() + left;
  TRY(keep_clock(id, {clock ? std::max(over_at, clock->over_at) : over_at, milliseconds(-1)}));
  TRY(tell_time_left(id, left));
  return keep_clock(id, {over_at, milliseconds(-1)});
}

// True: by init, which stops every process with a signal. A plain user's engine has no freezer
// where it has no cgroup.
Result<bool> DockerBackend::freeze(const std::string& id) {
  auto frozen = ask(id, "/pause");
  if (frozen) return false;
  const EngineFacts* facts = TRY(this->facts());
  if (!facts->is_rootless || facts->has_pids) return Failure(std::move(frozen).error());
  TRY(TRY(init_of(id)).suspend());
  return true;
}

// Init first: its clock goes on while it is frozen, and it would end the moment it is thawed.
Result<> DockerBackend::pause(const std::string& id) {
  const auto clock = kept_clock(id);
  if (clock && clock->is_halted) return {};
  const milliseconds left = TRY(time_left(id));
  TRY(tell_time_left(id, kLongestPause));
  const milliseconds over_at = milliseconds_now() + kLongestPause;
  TRY(keep_clock(id, {over_at, left}));
  auto is_halted = freeze(id);
  if (is_halted) return keep_clock(id, {over_at, left, *is_halted});
  if (tell_time_left(id, left))  // else it is gone, or the sandbox that cannot be paused lives on
    TRY(keep_clock(id, {milliseconds_now() + left, milliseconds(-1)}));
  return Failure(std::move(is_halted).error());
}

Result<> DockerBackend::resume(const std::string& id) {
  const auto clock = kept_clock(id);
  if (clock && clock->is_halted) {
    TRY(TRY(init_of(id)).resume());
  } else {
    TRY(ask(id, "/unpause"));
  }
  if (!clock || !clock->is_still()) return {};  // somebody else had paused it
  TRY(tell_time_left(id, clock->left));
  return keep_clock(id, {milliseconds_now() + clock->left, milliseconds(-1)});
}

}  // namespace nutshell::docker
