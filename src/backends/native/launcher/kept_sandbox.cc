#include "backends/native/launcher/kept_sandbox.h"

#include <algorithm>
#include <cstring>

#include "base/socket.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto kGrace = 2s;  // how long the launcher waits for an init that does not end itself

}  // namespace

milliseconds KeptSandbox::time_left() const {
  if (is_paused) return left_at_resume;
  const auto left = std::chrono::duration_cast<milliseconds>(ttl_end - Clock::now());
  return std::max(milliseconds(0), left);
}

void KeptSandbox::move_end(milliseconds left) {
  ttl_end = Clock::now() + std::max(milliseconds(0), left);
  end = ttl_end + kGrace;
}

Result<bool> KeptSandbox::tell_time_left(milliseconds left) {
  const auto count = static_cast<std::uint64_t>(std::max(milliseconds(0), left).count());
  std::string packet(1 + sizeof count, kNewTimeLeft);
  std::memcpy(packet.data() + 1, &count, sizeof count);
  if (!TRY(try_send_packet(sandbox.control.get(), packet))) return false;
  move_end(left);
  return true;
}

}  // namespace nutshell::native
