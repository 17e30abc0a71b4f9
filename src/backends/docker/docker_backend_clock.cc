// The clock of a sandbox in a container: init keeps it, and is told of every change through a
// connection. An engine can freeze a container, but no clock.
#include <algorithm>

#include "backends/docker/docker_backend.h"
#include "backends/docker/kept_clock.h"
#include "wire/clock.h"
#include "wire/init_client.h"

namespace nutshell::docker {
namespace {

using std::chrono::milliseconds;

// One that nobody ever resumes is not kept for good.
constexpr milliseconds kLongestPause{24LL * 3600 * 1000};

}  // namespace

Result<> DockerBackend::tell_time_left(const std::string& id, milliseconds left) {
  TRY(engine_with_sandboxes());
  // The first connection is somebody else's to have.
  auto stream = connect_directly(id);
  wire::InitClient init(stream ? std::move(*stream) : TRY(open_bridge(id)));
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
  if (clock && clock->is_still()) return keep_clock(id, {clock->over_at, left});
  // The later of both while it is being told: whoever sweeps meanwhile takes nothing that lives.
  const auto over_at = milliseconds_now() + left;
  TRY(keep_clock(id, {clock ? std::max(over_at, clock->over_at) : over_at, milliseconds(-1)}));
  TRY(tell_time_left(id, left));
  return keep_clock(id, {over_at, milliseconds(-1)});
}

// Init first: its clock goes on while it is frozen, and it would end the moment it is thawed.
Result<> DockerBackend::pause(const std::string& id) {
  const milliseconds left = TRY(time_left(id));
  TRY(tell_time_left(id, kLongestPause));
  TRY(keep_clock(id, {milliseconds_now() + kLongestPause, left}));
  auto paused = ask(id, "/pause");
  if (paused) return {};
  if (tell_time_left(id, left))  // else it is gone, or the sandbox that cannot be paused lives on
    TRY(keep_clock(id, {milliseconds_now() + left, milliseconds(-1)}));
  return Failure(std::move(paused).error());
}

Result<> DockerBackend::resume(const std::string& id) {
  TRY(ask(id, "/unpause"));
  const auto clock = kept_clock(id);
  if (!clock || !clock->is_still()) return {};  // somebody else had paused it
  TRY(tell_time_left(id, clock->left));
  return keep_clock(id, {milliseconds_now() + clock->left, milliseconds(-1)});
}

}  // namespace nutshell::docker
