// What can be seen of gVisor's sandboxes: which there are, why one ended, what is left over.
#include <fmt/format.h>

#include <algorithm>

#include "backends/gvisor/gvisor_backend.h"
#include "backends/gvisor/runsc_stats.h"
#include "wire/init_client.h"

namespace nutshell::gvisor {
namespace {

using namespace std::chrono_literals;

// Time for init to end it itself.
constexpr std::uint64_t kPatienceMs = 60'000;
constexpr auto kRemovalTime = 10s;

std::chrono::milliseconds span(std::uint64_t from, std::uint64_t to) {
  return std::chrono::milliseconds(to > from ? static_cast<std::int64_t>(to - from) : 0);
}

}  // namespace

Result<std::vector<SandboxStatus>> GvisorBackend::list() {
  std::vector<SandboxStatus> all;
  const std::uint64_t now = milliseconds_now();
  for (const std::string& id : TRY(Bundle::ids())) {
    const Bundle bundle = TRY(Bundle::at(id));
    const auto record = bundle.remembered();
    if (!record || !is_alive(*record)) continue;
    SandboxStatus status;
    status.id = id;
    status.spec = record->spec;
    status.spec.environment.clear();
    status.state = record->is_paused != 0 ? SandboxState::Paused : SandboxState::Running;
    status.age = span(record->started_ms, now);
    status.time_left =
        record->is_paused != 0 ? span(0, record->left_ms) : span(now, record->expires_ms);
    status.protections = protections_for(facts_, status.spec);
    status.why_copied = "gVisor stacks no layers for init";
    all.push_back(std::move(status));
  }
  return all;
}

Result<std::vector<std::string>> GvisorBackend::environment_of(const std::string& id) {
  return TRY(TRY(Bundle::at(id)).remembered()).spec.environment;
}

Result<SandboxStats> GvisorBackend::stats(const std::string& id) {
  constexpr auto kAnswerTime = 10s;
  TRY(TRY(Bundle::at(id)).living());
  auto told = TRY(runsc())->ask(TRY(words({"events", "--stats", id})), Deadline::in(kAnswerTime));
  // One that ended at this moment is not there, whatever its program says.
  if (!told) TRY(TRY(Bundle::at(id)).living());
  SandboxStats stats = TRY(read_stats(TRY(std::move(told))));
  // Without a cgroup of the sandbox's own, runsc tells the processor time of its caller's cgroup,
  // which may be the whole machine's.
  if (facts_.cgroup.empty()) stats.cpu_time.reset();
  return stats;
}

// What is left of it is looked at before it is swept.
Gone GvisorBackend::why_gone(const std::string& id) {
  if (has_run_out_of_memory(id))
    return {Gone::Reason::OutOfMemory, "the whole sandbox ran out of memory and has ended"};
  return {Gone::Reason::Unknown, "the sandbox has ended"};
}

Result<> GvisorBackend::try_sandbox() {
  const std::string id = TRY(start(SandboxSpec{}, Lifetime::WithCaller));
  auto stream = connect(id);
  auto tried = stream ? wire::InitClient(std::move(*stream)).ping() : Failure(stream.error());
  TRY(stop(id));
  return tried;
}

Protections GvisorBackend::probe() {
  const auto tried = try_sandbox();
  Protections protections = protections_for(facts_, SandboxSpec{});
  const std::string by =
      runsc_ ? fmt::format("{} of {}", runsc_->program(), runsc_->version()) : "";
  Protection sandbox{"sandbox", Strength::Hard, by, ""};
  if (!tried) {
    sandbox.strength = Strength::Missing;
    sandbox.fix = tried.error().message;
  }
  protections.push_back(std::move(sandbox));
  return protections;
}

// Whoever makes one, and whoever it ends with, holds its lock.
bool GvisorBackend::is_leftover(Bundle& bundle) {
  if (!bundle.lock()) return false;
  const auto record = bundle.remembered();
  if (!record || !is_alive(*record) || record->ends_with_caller != 0) return true;
  return milliseconds_now() > record->expires_ms + kPatienceMs;
}

SweepReport GvisorBackend::sweep(SweepMode mode) {
  SweepReport report;
  const auto ids = Bundle::ids();
  if (!ids) return report;
  for (const std::string& id : *ids) {
    auto bundle = Bundle::at(id);
    if (!bundle || !is_leftover(*bundle)) continue;
    const bool is_removed = mode == SweepMode::DryRun || bundle->remove(Deadline::in(kRemovalTime));
    (is_removed ? report.removed : report.failed).push_back(fmt::format("gVisor sandbox {}", id));
  }
  return report;
}

}  // namespace nutshell::gvisor
