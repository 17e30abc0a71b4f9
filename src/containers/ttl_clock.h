// The ttl of a sandbox whose init keeps the time. Engines can freeze a container but not its clock,
// so init is told a new time before each pause and after each resume, and the host keeps a record
// of what init was told last.
#pragma once

#include <chrono>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::containers {

std::chrono::milliseconds milliseconds_now();  // since 1970

struct TtlClock {
  // When the sandbox ends, since 1970. While it is paused: when an abandoned pause ends.
  std::chrono::milliseconds expires_at{0};
  // The part of the ttl that is left while the clock stands still; nullopt while it runs.
  std::optional<std::chrono::milliseconds> left = std::nullopt;
  // The sandbox is paused and only this record says so. False where its engine knows.
  bool is_paused = false;
  void fields(auto& visit) { visit(expires_at, left, is_paused); }

  [[nodiscard]] std::chrono::milliseconds left_at(std::chrono::milliseconds now) const;
};

// How the functions below reach one sandbox. A backend implements it.
class PausableSandbox {
 public:
  virtual ~PausableSandbox() = default;
  virtual Result<> keep(const TtlClock& clock) = 0;
  // Connects to init, which ends the sandbox once this much time has passed.
  virtual Result<> tell_init(std::chrono::milliseconds left) = 0;
  // Whether somebody else knows afterwards that the sandbox is paused.
  enum class KnownBy { Engine, RecordAlone };
  virtual Result<KnownBy> freeze() = 0;
  virtual Result<> thaw() = 0;
};

// `clock` is the sandbox's record as it was read before the call.
Result<> set_time_left(PausableSandbox& sandbox, const TtlClock& clock,
                       std::chrono::milliseconds left);
Result<> pause(PausableSandbox& sandbox, const TtlClock& clock);
Result<> resume(PausableSandbox& sandbox, const TtlClock& clock);

// Sends SetTimeLeft over a new connection to init.
Result<> tell_time_left(UniqueFd stream, std::chrono::milliseconds left);

// The error for a connection to a sandbox that is paused.
Failure paused_failure(const std::string& id);

}  // namespace nutshell::containers
