#include "service/batch.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/defer.h"
#include "service/execs/collected_output.h"
#include "service/sandboxes/sandbox_files.h"
#include "telemetry/span.h"

namespace nutshell::service {
namespace {

constexpr std::size_t kMostItems = 10'000;
constexpr std::size_t kMostParallel = 64;
constexpr std::chrono::minutes kPreparation{1};  // for writing its files, before its command
constexpr std::size_t kMostFiles = 1000;
constexpr std::size_t kMostPath = 4096;

bool is_readable(int descriptor) {
  pollfd watched{descriptor, POLLIN, 0};
  return descriptor >= 0 && ::poll(&watched, 1, 0) > 0;
}

// Keeps the beginning of each stream, as far as the tenant has memory for it, and drops the rest.
class BoundedIo : public wire::ExecIo {
 public:
  BoundedIo(const BatchRequest& request, const OutputRoom& room)
      : charge(room.tenant.take_anyway(0)),
        most_(std::min(request.output_bytes, room.most_bytes)),
        gone_(request.gone_descriptor) {}
  Taken take(wire::Stream stream, std::string_view bytes) override {
    const bool is_error = stream == wire::Stream::Error;
    std::string& kept = is_error ? error : output;
    const auto fits = std::min<std::uint64_t>(bytes.size(), most_ - kept.size());
    const bool has_room = !(is_error ? is_error_cut : is_output_cut) &&
                          charge.grow(fits * CollectedOutput::kMemoryForAByte);
    if (has_room) kept += bytes.substr(0, fits);
    if (!has_room || fits < bytes.size()) (is_error ? is_error_cut : is_output_cut) = true;
    return Taken::Yes;
  }
  [[nodiscard]] int event_descriptor() const override { return gone_; }
  std::optional<wire::ExecEvent> next_event() override {
    if (!is_readable(gone_)) return std::nullopt;
    gone_ = -1;  // cancel once
    return wire::CancelExec{};
  }
  std::string output;
  std::string error;
  bool is_output_cut = false;
  bool is_error_cut = false;
  Charge charge;

 private:
  std::uint64_t most_;
  int gone_;
};

Result<> write_files(Service& service, const Caller& caller, const std::string& id,
                     const BatchItem& item) {
  for (const auto& [path, content] : item.files) {
    std::string_view rest = content;
    TRY(service.files().write(caller, id, {path, 0644, 0, 0},
                              [&rest](std::size_t most) -> Result<std::string> {
                                std::string part(rest.substr(0, most));
                                rest.remove_prefix(part.size());
                                return part;
                              }));
  }
  return {};
}

Result<> check_files(const BatchItem& item) {
  const auto is_long = [](const auto& file) { return file.first.size() > kMostPath; };
  if (item.files.size() <= kMostFiles &&
      std::none_of(item.files.begin(), item.files.end(), is_long))
    return {};
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("an item has at most {} files, with paths of at most {} bytes: "
                             "write more to the sandbox of a session",
                             kMostFiles, kMostPath));
}

Result<ExecResult> run_item(Service& service, const Caller& caller, const BatchRequest& request,
                            std::size_t index, BatchResult& into) {
  const BatchItem& item = request.items[index];
  SandboxSpec spec = request.spec;
  spec.is_for_one_command = true;
  // If this daemon dies and is not started again, the sandbox ends soon.
  spec.ttl = std::min(spec.ttl, item.request.limits.timeout + kPreparation);
  // No client knows its id, so if this daemon dies, the next one ends it.
  CreateRequest order;
  order.spec = std::move(spec);
  order.ends_with_service = true;
  const SandboxView sandbox = TRY(service.create(caller, order));
  const Defer ended([&] { (void)service.destroy(caller, sandbox.id); });  // or its ttl ends it
  TRY(write_files(service, caller, sandbox.id, item));
  BoundedIo io(request, service.output_room(caller));
  ExecReply reply = TRY(service.exec(caller, sandbox.id, item.request, {}, io));
  into.output = std::move(io.output);
  into.error = std::move(io.error);
  into.charge = std::move(io.charge);
  reply.result.stdout_truncated |= io.is_output_cut;
  reply.result.stderr_truncated |= io.is_error_cut;
  into.audit_id = reply.audit_id;
  return std::move(reply.result);
}

}  // namespace

Result<std::vector<BatchResult>> run_batch(Service& service, const Caller& caller,
                                           const BatchRequest& request,
                                           const BatchProgress& progress) {
  if (request.items.empty() || request.items.size() > kMostItems)
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("a batch has 1 to {} items", kMostItems));
  for (const BatchItem& item : request.items) {
    TRY(check_exec(item.request));
    TRY(check_files(item));
  }
  std::vector<BatchResult> results(request.items.size());
  std::atomic<std::size_t> next = 0;
  std::mutex progress_mutex;
  std::atomic<bool> is_unwanted = false;
  const auto work = [&, trace = telemetry::active()] {
    const telemetry::ActiveScope part(trace);
    for (std::size_t index = next++; index < results.size(); index = next++) {
      if (is_unwanted || is_readable(request.gone_descriptor)) return;
      BatchResult& result = results[index];
      result.result = run_item(service, caller, request, index, result);
      const std::lock_guard lock(progress_mutex);
      if (!progress(index, result)) is_unwanted = true;
      if (request.results == BatchRequest::Results::Dropped) result = BatchResult();
    }
  };
  const std::size_t parallel =
      std::clamp<std::size_t>(request.parallel, 1, std::min(kMostParallel, results.size()));
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < parallel; ++i)
      workers.emplace_back(work);
    work();
  }
  return results;
}

}  // namespace nutshell::service
