// The clock of a sandbox in gVisor: init keeps it, and is told of every change through a
// connection. gVisor can be made to stand still, but its clock goes on.
#include <algorithm>

#include "backends/gvisor/gvisor_backend.h"
#include "wire/init_client.h"
#include "wire/schema.h"

namespace nutshell::gvisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerTime = 10s;
// One that nobody ever resumes is not kept for good.
constexpr std::uint64_t kLongestPauseMs = 24ULL * 3600 * 1000;

std::uint64_t left_of(const Record& record) {
  if (record.is_paused != 0) return record.left_ms;
  const std::uint64_t now = milliseconds_now();
  return record.expires_ms > now ? record.expires_ms - now : 0;
}

}  // namespace

Result<> GvisorBackend::tell_time_left(const std::string& id, std::uint64_t left_ms) {
  // The first connection is somebody else's to have.
  wire::InitClient init(TRY(open_bridge(id)));
  TRY(init.call<wire::Done>(wire::SetTimeLeft{left_ms}));
  return {};
}

Result<> GvisorBackend::control(const std::string& id, const char* command) {
  return TRY(runsc())->run(TRY(words({command, id})), {}, Deadline::in(kAnswerTime));
}

Result<> GvisorBackend::set_time_left(const std::string& id, std::chrono::milliseconds left) {
  const Bundle bundle = TRY(Bundle::at(id));
  Record record = TRY(bundle.living());
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 0));
  if (record.is_paused != 0) {
    record.left_ms = count;
    return bundle.remember(record);
  }
  const std::uint64_t over_at = milliseconds_now() + count;
  // The later of both while it is being told: whoever sweeps meanwhile takes nothing that lives.
  record.expires_ms = std::max(record.expires_ms, over_at);
  TRY(bundle.remember(record));
  TRY(tell_time_left(id, count));
  record.expires_ms = over_at;
  return bundle.remember(record);
}

// Init first: it would end the moment it goes on.
Result<> GvisorBackend::pause(const std::string& id) {
  const Bundle bundle = TRY(Bundle::at(id));
  const Record before = TRY(bundle.living());
  if (before.is_paused != 0) return {};
  Record record = before;
  record.left_ms = left_of(before);
  record.expires_ms = milliseconds_now() + kLongestPauseMs;
  TRY(bundle.remember(record));
  TRY(tell_time_left(id, kLongestPauseMs));
  auto paused = control(id, "pause");
  if (!paused) {
    TRY(tell_time_left(id, record.left_ms));
    TRY(bundle.remember(before));
    return paused;
  }
  record.is_paused = 1;
  return bundle.remember(record);
}

Result<> GvisorBackend::resume(const std::string& id) {
  const Bundle bundle = TRY(Bundle::at(id));
  Record record = TRY(bundle.living());
  if (record.is_paused == 0) return {};
  TRY(control(id, "resume"));
  record.is_paused = 0;
  TRY(bundle.remember(record));
  TRY(tell_time_left(id, record.left_ms));
  record.expires_ms = milliseconds_now() + record.left_ms;
  return bundle.remember(record);
}

}  // namespace nutshell::gvisor
