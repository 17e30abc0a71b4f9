#include "containers/ttl_clock.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/init_client.h"

namespace nutshell::containers {
namespace {

using std::chrono::milliseconds;

// A sandbox that is never resumed ends after this time.
constexpr milliseconds kLongestPause{24LL * 3600 * 1000};

}  // namespace

milliseconds milliseconds_now() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

milliseconds TtlClock::left_at(milliseconds now) const {
  return left ? *left : std::max(expires_at - now, milliseconds(0));
}

Result<> set_time_left(PausableSandbox& sandbox, const TtlClock& clock, milliseconds left) {
  left = std::max(left, milliseconds(0));
  if (clock.left) return sandbox.keep({clock.expires_at, left, clock.is_paused});
  const milliseconds expires_at = milliseconds_now() + left;
  // Until init has answered, the record holds the later of both times, so that a concurrent sweep
  // removes no living sandbox.
  TRY(sandbox.keep({std::max(expires_at, clock.expires_at)}));
  TRY(sandbox.tell_init(left));
  return sandbox.keep({expires_at});
}

// Init is told first: its clock runs on while it is frozen, and it would end as soon as it is
// thawed.
Result<> pause(PausableSandbox& sandbox, const TtlClock& clock) {
  if (clock.is_paused) return {};
  const milliseconds left = clock.left_at(milliseconds_now());
  const milliseconds expires_at = milliseconds_now() + kLongestPause;
  TRY(sandbox.keep({expires_at, left}));
  if (auto told = sandbox.tell_init(kLongestPause); !told) {
    TRY(sandbox.keep(clock));
    return told;
  }
  auto frozen = sandbox.freeze();
  if (frozen) {
    if (*frozen == PausableSandbox::KnownBy::Engine) return {};
    return sandbox.keep({expires_at, left, true});
  }
  // If init cannot be told either, the sandbox is gone, or it runs until the record's later time.
  if (sandbox.tell_init(left)) TRY(sandbox.keep({milliseconds_now() + left}));
  return Failure(std::move(frozen).error());
}

Result<> resume(PausableSandbox& sandbox, const TtlClock& clock) {
  TRY(sandbox.thaw());
  if (!clock.left) return {};  // it was paused through its engine, and init's clock ran on
  // Kept before init is told: the sandbox runs now, whether or not init answers.
  if (clock.is_paused) TRY(sandbox.keep({clock.expires_at, clock.left}));
  TRY(sandbox.tell_init(*clock.left));
  return sandbox.keep({milliseconds_now() + *clock.left});
}

Result<> tell_time_left(UniqueFd stream, milliseconds left) {
  wire::InitClient init(std::move(stream));
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 0));
  TRY(init.call<wire::Done>(wire::SetTimeLeft{count}));
  return {};
}

Failure paused_failure(const std::string& id) {
  return failure(ErrorCode::Unavailable,
                 fmt::format("sandbox {0} is paused: 'nutshell resume {0}'", id));
}

}  // namespace nutshell::containers
