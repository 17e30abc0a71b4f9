#include "service/execs/init_streams.h"

#include <algorithm>

namespace nutshell::service {

Result<std::unique_ptr<InitStream>> InitStreams::open(const Caller& caller, const std::string& id) {
  SandboxRef ref = TRY(uses_.table.find(caller.tenant, id));
  auto used = uses_.table.use(ref.id);
  TRY(uses_.sandboxes.wake(ref.id));
  UniqueFd stream = TRY(uses_.runtime.open_stream(ref.id));
  const auto count_cpu = [watch = &uses_.watch](const SandboxRef& used_by) {
    watch->count(used_by.tenant, used_by.session, used_by.id);
  };
  const StreamMeter::Dependencies parts{uses_.budgets, uses_.operations, count_cpu};
  return std::unique_ptr<InitStream>(new InitStream{std::move(used), std::move(stream),
                                                    StreamMeter(parts, caller, std::move(ref))});
}

void InitStreams::end_sandbox(const Caller& caller, const std::string& id) {
  const auto gone = why_gone(caller, id);
  if (gone && gone->reason != Gone::Reason::Unknown) uses_.gone.add(caller.tenant, id, *gone);
  // The next tick tries again if it cannot be ended now; it may have ended already.
  (void)uses_.sandbox_operations.run(
      caller, id, "destroy", {},
      [&](const SandboxRef& ref, Operation&) { return uses_.sandboxes.end(ref.id, kDestroyed); });
}

Result<> InitStreams::restack(const Caller& caller, const std::string& id,
                              const std::vector<std::string>& layers) {
  constexpr std::size_t kMostLayers = 1024;
  constexpr std::size_t kMostName = 255;
  const auto is_long = [](const std::string& layer) { return layer.size() > kMostName; };
  if (layers.size() > kMostLayers || std::any_of(layers.begin(), layers.end(), is_long))
    return failure(ErrorCode::InvalidArgument, "more than 1024 layers, or the name of one is long");
  const SandboxRef ref = TRY(uses_.table.find(caller.tenant, id));
  return uses_.runtime.restack(ref.id, layers);
}

Result<Gone> InitStreams::why_gone(const Caller& caller, const std::string& id) {
  // Answers only for sandboxes that the caller has, or had a moment ago.
  const auto ref = uses_.table.find(caller.tenant, id);
  if (!ref) return uses_.gone.find(caller.tenant, id).value_or(Gone{});
  const auto backend = TRY(uses_.runtime.backend_of(ref->id));
  Gone gone = backend->why_gone(ref->id);
  if (gone.reason != Gone::Reason::Unknown) return gone;
  // Backends say "has ended" if they know no reason, also for a sandbox that lives.
  for (const SandboxStatus& status : TRY(backend->list())) {
    if (status.id == ref->id) gone.text = "the sandbox has not ended: it is alive";
  }
  return gone;
}

SweepReport InitStreams::sweep(const Caller& caller, SweepMode mode) {
  if (caller.host_files == HostFiles::Denied)
    return {{}, {"sweeping is for clients on the daemon's own socket"}};
  return uses_.runtime.sweep(mode);
}

}  // namespace nutshell::service
