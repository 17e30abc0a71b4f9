// For the backend over HTTP, which talks to a sandbox's init by itself.
#include <algorithm>

#include "service/execs/stream_meter.h"
#include "service/service.h"
#include "service/service_parts.h"

namespace nutshell::service {
namespace {

class MeteredStream : public Service::Stream {
 public:
  MeteredStream(SandboxTable::Use use, UniqueFd stream, std::unique_ptr<StreamMeter> meter)
      : use_(std::move(use)), stream_(std::move(stream)), meter_(std::move(meter)) {}

  [[nodiscard]] int descriptor() const override { return stream_.get(); }
  Result<Passed> from_client(std::string_view bytes) override {
    return passed(TRY(meter_->from_client(bytes)));
  }
  Result<Passed> from_init(std::string_view bytes) override {
    return passed(TRY(meter_->from_init(bytes)));
  }
  [[nodiscard]] bool is_idle() const override { return meter_->is_idle(); }

 private:
  static Passed passed(StreamMeter::Passed given) {
    return {std::move(given.to_init), std::move(given.to_client)};
  }

  SandboxTable::Use use_;
  UniqueFd stream_;
  std::unique_ptr<StreamMeter> meter_;
};

}  // namespace

Result<std::unique_ptr<Service::Stream>> Service::open_stream(const Caller& caller,
                                                              const std::string& id) {
  Grip grip = TRY(parts_->table.find(caller.tenant, id));
  auto used = parts_->table.use(grip.id);
  TRY(parts_->execs.wake(grip));
  UniqueFd stream = TRY(parts_->runtime.open_stream(grip.id));
  auto meter = std::make_unique<StreamMeter>(
      StreamMeter::Dependencies{parts_->budgets, parts_->operations,
                                [watch = &parts_->budget_watch](const Grip& held) {
                                  watch->count(held.tenant, held.session, held.id);
                                }},
      caller, std::move(grip));
  return std::make_unique<MeteredStream>(std::move(used), std::move(stream), std::move(meter));
}

void Service::end_with_stream(const Caller& caller, const std::string& id) {
  const auto gone = why_gone(caller, id);
  if (gone && gone->reason != Gone::Reason::Unknown) parts_->gone.add(caller.tenant, id, *gone);
  // One that cannot be ended now is tried again by the clocks; one that is gone needs no end.
  (void)destroy(caller, id);
}

Result<> Service::restack(const Caller& caller, const std::string& id,
                          const std::vector<std::string>& layers) {
  constexpr std::size_t kMostLayers = 1024;
  constexpr std::size_t kMostName = 255;
  const auto is_long = [](const std::string& layer) { return layer.size() > kMostName; };
  if (layers.size() > kMostLayers || std::any_of(layers.begin(), layers.end(), is_long))
    return failure(ErrorCode::InvalidArgument, "more than 1024 layers, or the name of one is long");
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  return parts_->runtime.restack(grip.id, layers);
}

Result<Gone> Service::why_gone(const Caller& caller, const std::string& id) {
  // Only of a sandbox that is still known as the caller's, or that it had a moment ago.
  const auto grip = parts_->table.find(caller.tenant, id);
  if (!grip) return parts_->gone.find(caller.tenant, id).value_or(Gone{});
  const auto backend = TRY(parts_->runtime.backend_of(grip->id));
  Gone gone = backend->why_gone(grip->id);
  if (gone.reason != Gone::Reason::Unknown) return gone;
  // Backends say that it has ended of everything whose end they know no reason for.
  for (const SandboxStatus& status : TRY(backend->list())) {
    if (status.id == grip->id) gone.text = "the sandbox has not ended: it is alive";
  }
  return gone;
}

SweepReport Service::sweep(const Caller& caller, SweepMode mode) {
  if (caller.host_files == HostFiles::Denied)
    return {{}, {"sweeping is for clients on the daemon's own socket"}};
  return parts_->runtime.sweep(mode);
}

}  // namespace nutshell::service
