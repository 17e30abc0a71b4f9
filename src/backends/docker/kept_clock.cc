#include "backends/docker/kept_clock.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "backends/docker/kept_environment.h"
#include "backends/docker/kept_place.h"
#include "backends/docker/spec_labels.h"
#include "base/file.h"
#include "base/user_directory.h"
#include "wire/codec.h"

namespace nutshell::docker {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kBeginning = "container-";
constexpr std::string_view kEnding = ".clock";
constexpr auto kPatience = 60s;

struct Kept {
  std::uint64_t over_ms = 0;
  std::uint64_t left_ms = 0;  // one more than it is; zero: it runs
  std::uint8_t is_halted = 0;
  void fields(auto& visit) { visit(over_ms, left_ms, is_halted); }
};

Result<std::filesystem::path> file_of(const std::string& id) {
  return TRY(open_user_directory()) / fmt::format("{}{}{}", kBeginning, id, kEnding);
}

std::uint64_t count_of(std::chrono::milliseconds span) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(span.count(), 0));
}

std::vector<std::string> ids_with_clocks() {
  std::vector<std::string> ids;
  const auto directory = open_user_directory();
  if (!directory) return ids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(*directory, error)) {
    const std::string name = entry.path().filename().native();
    if (!name.starts_with(kBeginning) || !name.ends_with(kEnding)) continue;
    ids.push_back(name.substr(kBeginning.size(), name.size() - kBeginning.size() - kEnding.size()));
  }
  return ids;
}

}  // namespace

std::chrono::milliseconds KeptClock::left_at(std::chrono::milliseconds now) const {
  return is_still() ? left : std::max(over_at - now, 0ms);
}

Result<> keep_clock(const std::string& id, const KeptClock& clock) {
  const Kept kept{count_of(clock.over_at), clock.is_still() ? count_of(clock.left) + 1 : 0,
                  static_cast<std::uint8_t>(clock.is_halted ? 1 : 0)};
  return write_file(TRY(file_of(id)), wire::encode(kept), 0600);
}

Result<KeptClock> kept_clock(const std::string& id) {
  constexpr std::size_t kMost = 64;
  const auto kept = TRY(wire::decode<Kept>(TRY(read_file(TRY(file_of(id)), kMost))));
  KeptClock clock;
  clock.over_at = std::chrono::milliseconds(static_cast<std::int64_t>(kept.over_ms));
  clock.left = std::chrono::milliseconds(static_cast<std::int64_t>(kept.left_ms) - 1);
  clock.is_halted = kept.is_halted != 0;
  return clock;
}

void forget_clock(const std::string& id) {
  if (const auto file = file_of(id)) ::unlink(file->c_str());
}

void sweep_kept(SweepMode mode, SweepReport& report) {
  const auto now = milliseconds_now();
  for (const std::string& id : ids_with_clocks()) {
    const auto clock = kept_clock(id);
    if (!clock || now < clock->over_at + kPatience) continue;
    report.removed.push_back(fmt::format("what was kept of sandbox {}", id));
    if (mode == SweepMode::DryRun) continue;
    forget_environment(id);
    forget_place(id);
    forget_clock(id);
  }
}

}  // namespace nutshell::docker
