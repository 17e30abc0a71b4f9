// Exec, ExecStream and History.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <charconv>

#include "base/unique_fd.h"
#include "roche/v1/sandbox.pb.h"
#include "server/grpc/roche/roche_methods.h"
#include "service/evidence.h"

namespace nutshell::server {
namespace {

namespace v1 = ::roche::v1;

constexpr int kHeartbeatSeconds = 1;
// Clients refuse messages of more than 4 MiB; the rest is for the trace.
constexpr std::size_t kMostText = (4U << 20U) - (256U << 10U);

// Fails with Conflict if the sandbox is paused: a command would wait until it is resumed.
Result<> check_running(RpcCall& call, const std::string& id) {
  const auto view = TRY(call.service.find(call.caller, id));
  if (view.state != SandboxState::Paused) return {};
  return failure(ErrorCode::Conflict, fmt::format("sandbox {} is paused: unpause it first", id));
}

service::TraceLevel level_of(v1::TraceLevel level) {
  if (level == v1::TRACE_LEVEL_SUMMARY) return service::TraceLevel::Summary;
  return level == v1::TRACE_LEVEL_OFF ? service::TraceLevel::Off : service::TraceLevel::Files;
}

template <typename Message>
Result<ExecRequest> request_of(const Message& message) {
  ExecRequest request;
  request.argv.assign(message.command().begin(), message.command().end());
  if (request.argv.empty() || request.argv.front().empty()) {
    return failure(ErrorCode::InvalidArgument, "the field 'command' has no program");
  }
  request.limits.timeout = roche::kDefaultTimeout;
  if (message.has_timeout_secs()) {
    request.limits.timeout =
        std::chrono::seconds(std::min<std::uint64_t>(message.timeout_secs(), kYearMs / 1000));
  }
  TRY(check_exec(request));
  return request;
}

v1::FileOp operation_of(wire::ChangeKind kind) {
  if (kind == wire::ChangeKind::Added) return v1::FILE_OP_CREATE;
  return kind == wire::ChangeKind::Removed ? v1::FILE_OP_DELETE : v1::FILE_OP_WRITE;
}

void fill(v1::ExecutionTrace& trace, const service::ExecReply& done) {
  trace.set_duration_secs(std::chrono::duration<double>(done.result.duration).count());
  v1::ResourceUsage& usage = *trace.mutable_resource_usage();
  usage.set_peak_memory_bytes(done.result.peak_memory_bytes);
  usage.set_cpu_time_secs(std::chrono::duration<double>(done.result.cpu_time).count());
  for (const wire::FileChange& change : done.trace.files) {
    v1::FileAccess& file = *trace.add_file_accesses();
    file.set_path(roche::to_text(change.path));
    file.set_op(operation_of(change.kind));
    file.set_size_bytes(change.after.size);
  }
  for (const std::string& blocked : done.trace.blocked)
    trace.add_blocked_ops()->set_op_type(roche::to_text(blocked));
}

// Keeps the output, and cancels the command when the client is gone.
class Collecting : public service::CollectedOutput {
 public:
  Collecting(Rpc& rpc, const service::OutputRoom& room)
      : CollectedOutput(room), rpc_(rpc), gone_(rpc.gone_descriptor()) {}

  [[nodiscard]] int event_descriptor() const override { return gone_; }
  std::optional<wire::ExecEvent> next_event() override {
    if (gone_ < 0 || !rpc_.is_gone()) return std::nullopt;
    gone_ = -1;  // reported once
    return wire::CancelExec{};
  }

 private:
  Rpc& rpc_;
  int gone_;
};

Result<> exec(RpcCall& call) {
  const auto& message = static_cast<const v1::ExecRequest&>(call.request);
  if (message.has_session_id() && !message.session_id().empty()) {
    return failure(ErrorCode::Unsupported,
                   "session_id: a session here has a sandbox of its own; see CreateSession");
  }
  const ExecRequest request = TRY(request_of(message));
  service::ExecOptions options;
  options.trace = level_of(message.trace_level());
  options.idempotency_key = message.idempotency_key();
  TRY(check_running(call, message.sandbox_id()));
  Collecting client(call.rpc, call.service.output_room(call.caller));
  const auto done =
      TRY(call.service.exec(call.caller, message.sandbox_id(), request, options, client));
  TRY(roche::refuse_without_status(done.result, request));
  auto& reply = static_cast<v1::ExecResponse&>(call.reply);
  reply.set_exit_code(roche::exit_code_of(done.result));
  reply.set_stdout(roche::to_text(client.output));
  reply.set_stderr(roche::to_text(client.error));
  if (options.trace != service::TraceLevel::Off) fill(*reply.mutable_trace(), done);
  if (reply.ByteSizeLong() <= kMostText) return {};
  return failure(ErrorCode::ResourceExhausted,
                 fmt::format("the output of {} bytes is more than a client of Roche accepts: "
                             "ExecStream has no such bound",
                             client.output.size() + client.error.size()));
}

// Sends output as it comes, and a heartbeat every second.
class Streaming : public wire::ExecIo {
 public:
  Streaming(RpcCall& call, const v1::ExecStreamRequest& request) : call_(call), request_(request) {}

  Result<> open() {
    timer_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    events_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    const itimerspec each{{kHeartbeatSeconds, 0}, {kHeartbeatSeconds, 0}};
    if (!timer_ || !events_ || ::timerfd_settime(timer_.get(), 0, &each, nullptr) != 0) {
      return syscall_failure("timerfd");
    }
    for (const int descriptor : {timer_.get(), call_.rpc.gone_descriptor()}) {
      epoll_event event{};
      event.events = EPOLLIN;
      if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
        return syscall_failure("epoll_ctl");
    }
    return {};
  }

  Taken take(wire::Stream stream, std::string_view bytes) override {
    if (const std::uint64_t most = request_.output_limit().max_bytes(); most != 0) {
      bytes = bytes.substr(0, most - std::min(most, sent_));
      if (bytes.empty()) return Taken::Yes;
    }
    sent_ += bytes.size();
    v1::ExecEvent event;
    event.mutable_output()->set_stream(stream == wire::Stream::Error ? "stderr" : "stdout");
    event.mutable_output()->set_data(bytes.data(), bytes.size());
    return !is_gone_ && call_.rpc.write(event) ? Taken::Yes : Taken::ReaderGone;
  }

  [[nodiscard]] int event_descriptor() const override { return is_gone_ ? -1 : events_.get(); }
  std::optional<wire::ExecEvent> next_event() override {
    if (is_gone_) return std::nullopt;
    if (call_.rpc.is_gone()) {
      is_gone_ = true;
      return wire::CancelExec{};
    }
    std::uint64_t ticks = 0;
    if (::read(timer_.get(), &ticks, sizeof ticks) == sizeof ticks) beat();
    return std::nullopt;
  }
  [[nodiscard]] bool has_left() const override { return is_gone_; }

 private:
  void beat() {
    v1::ExecEvent event;
    v1::Heartbeat& heartbeat = *event.mutable_heartbeat();
    const auto now = Clock::now();
    heartbeat.set_elapsed_ms(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_).count()));
    if (const auto stats = call_.service.stats(call_.caller, request_.sandbox_id())) {
      v1::ResourceSnapshot& resources = *heartbeat.mutable_resources();
      resources.set_timestamp_ms(
          static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                         std::chrono::system_clock::now().time_since_epoch())
                                         .count()));
      resources.set_memory_bytes(stats->memory_bytes.value_or(0));
      if (stats->cpu_time && used_) {
        const std::chrono::duration<float> used = *stats->cpu_time - *used_;
        const std::chrono::duration<float> passed = now - looked_;
        resources.set_cpu_percent(100 * used.count() / passed.count());
      }
      used_ = stats->cpu_time;
      looked_ = now;
    }
    (void)call_.rpc.write(event);  // a client that is gone is noticed by the next event
  }

  RpcCall& call_;
  const v1::ExecStreamRequest& request_;
  UniqueFd timer_;
  UniqueFd events_;
  std::uint64_t sent_ = 0;
  bool is_gone_ = false;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point looked_ = begun_;
  std::optional<std::chrono::microseconds> used_;
};

Result<> check_policies(const v1::ExecStreamRequest& message, ExecRequest& request) {
  if (message.retry_policy().max_attempts() > 1) {
    return failure(ErrorCode::Unsupported,
                   "retry_policy: a command that was begun is not run again, because it may have "
                   "had effects; send it again");
  }
  const v1::OutputLimit& limit = message.output_limit();
  if (limit.max_bytes() == 0 || limit.action().empty() || limit.action() == "truncate") return {};
  if (limit.action() != "error") {
    return failure(ErrorCode::InvalidArgument, "output_limit.action is truncate or error");
  }
  request.limits.output_bytes = limit.max_bytes();
  return check_exec(request);
}

Result<> exec_stream(RpcCall& call) {
  const auto& message = static_cast<const v1::ExecStreamRequest&>(call.request);
  ExecRequest request = TRY(request_of(message));
  TRY(check_policies(message, request));
  service::ExecOptions options;
  options.trace = level_of(message.trace_level());
  options.idempotency_key = message.idempotency_key();
  TRY(check_running(call, message.sandbox_id()));
  Streaming client(call, message);
  TRY(client.open());
  const auto done =
      TRY(call.service.exec(call.caller, message.sandbox_id(), request, options, client));
  TRY(roche::refuse_without_status(done.result, request));
  v1::ExecEvent event;
  event.mutable_result()->set_exit_code(roche::exit_code_of(done.result));
  if (options.trace != service::TraceLevel::Off)
    fill(*event.mutable_result()->mutable_trace(), done);
  return call.rpc.write(event);
}

// "exited 3" has 3; other outcomes have no exit code.
std::optional<int> exit_code_in(std::string_view outcome) {
  constexpr std::string_view kExited = "exited ";
  if (!outcome.starts_with(kExited)) return std::nullopt;
  outcome.remove_prefix(kExited.size());
  int code = 0;
  const auto [end, error] = std::from_chars(outcome.data(), outcome.data() + outcome.size(), code);
  return error == std::errc() ? std::optional(code) : std::nullopt;
}

// The record holds hashes of the output and not the output, so stdout and stderr stay empty.
Result<> history(RpcCall& call) {
  const auto& request = static_cast<const v1::HistoryRequest&>(call.request);
  auto& reply = static_cast<v1::HistoryResponse&>(call.reply);
  for (const service::HistoryEntry& entry :
       TRY(call.service.evidence().history(call.caller, request.sandbox_id()))) {
    if (entry.action != "exec") continue;
    v1::ExecRecord& record = *reply.add_records();
    record.add_command(roche::to_text(entry.what));
    if (const auto code = exit_code_in(entry.outcome)) record.set_exit_code(*code);
    record.set_timestamp_ms(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(entry.when.time_since_epoch())
            .count()));
    record.set_duration_ms(static_cast<std::uint64_t>(entry.duration.count()));
  }
  return {};
}

}  // namespace

std::vector<Method> roche_exec_methods() {
  return {{"Exec", exec}, {"ExecStream", exec_stream}, {"History", history}};
}

}  // namespace nutshell::server
