// The methods for execs: Exec, StreamExec, FollowExec, InteractExec, OpenTerminal.
#include <sys/eventfd.h>

#include <nlohmann/json.hpp>

#include "base/unique_fd.h"
#include "nutshell/v1/nutshell.pb.h"
#include "server/grpc/message_json.h"
#include "server/grpc/methods.h"
#include "server/http/requests.h"
#include "server/http/shapes.h"
#include "server/http/views.h"

namespace nutshell::server {
namespace {

// The longest wait for news of a running exec.
constexpr auto kLongestLook = std::chrono::hours(1);
constexpr std::size_t kMostHeldInput = 1U << 20U;

struct Wanted {
  std::string id;
  ExecRequest request;
  service::ExecOptions options;
};

Result<Wanted> wanted_of(const v1::ExecRequest& message, const RpcCall& call) {
  Wanted wanted;
  Json body = to_json(message);
  body.erase("id");
  TRY(check_shape(body, exec_shape()));
  if (message.id().empty()) {
    return failure(ErrorCode::InvalidArgument, "the field 'id' is missing");
  }
  wanted.id = message.id();
  wanted.request = TRY(exec_of(body));
  wanted.options.trace = trace_of(body);
  wanted.options.idempotency_key = call.idempotency_key();
  return wanted;
}

void fill_result(v1::ExecResult& into, const service::ExecReply& done,
                 const service::ExecOptions& options) {
  fill(into, to_json(done.result));
  into.set_audit_id(static_cast<std::int64_t>(done.audit_id));
  if (options.trace != service::TraceLevel::Off) fill(*into.mutable_trace(), to_json(done.trace));
}

// Keeps the output, feeds bytes, and cancels the command when the client is gone.
class Waiting : public service::CollectedOutput {
 public:
  Waiting(Rpc& rpc, const service::OutputRoom& room, std::string input)
      : CollectedOutput(room),
        rpc_(rpc),
        input_(std::move(input)),
        always_ready_(::eventfd(1, EFD_CLOEXEC)),
        gone_(rpc.gone_descriptor()) {}

  [[nodiscard]] int input_descriptor() const override { return always_ready_.get(); }
  std::string read_input(std::size_t most) override {
    std::string piece = input_.substr(given_, most);
    given_ += piece.size();
    return piece;
  }
  [[nodiscard]] int event_descriptor() const override { return gone_; }
  std::optional<wire::ExecEvent> next_event() override {
    if (gone_ < 0 || !rpc_.is_gone()) return std::nullopt;
    gone_ = -1;  // reported once
    return wire::CancelExec{};
  }

 private:
  Rpc& rpc_;
  std::string input_;
  std::size_t given_ = 0;
  UniqueFd always_ready_;
  int gone_;
};

// Sends output as it comes, each piece with its offset.
class Streaming : public wire::ExecIo {
 public:
  enum class OnGone { Leave, Cancel };
  Streaming(Rpc& rpc, const service::ExecOffsets& from, OnGone on_gone)
      : rpc_(rpc), from_(from), on_gone_(on_gone), gone_(rpc.gone_descriptor()) {}

  Taken take(wire::Stream stream, std::string_view bytes) override {
    const bool is_error = stream == wire::Stream::Error;
    std::uint64_t& offset = is_error ? from_.error : from_.output;
    v1::ExecEvent event;
    v1::OutputPiece& piece = is_error ? *event.mutable_stderr() : *event.mutable_stdout();
    piece.set_offset(static_cast<std::int64_t>(offset));
    piece.set_data(bytes.data(), bytes.size());
    offset += bytes.size();
    return !is_gone_ && rpc_.write(event) ? Taken::Yes : Taken::ReaderGone;
  }

  [[nodiscard]] int event_descriptor() const override { return gone_; }
  std::optional<wire::ExecEvent> next_event() override {
    if (gone_ < 0 || !rpc_.is_gone()) return std::nullopt;
    gone_ = -1;
    is_gone_ = true;
    if (on_gone_ == OnGone::Cancel) return wire::CancelExec{};
    return std::nullopt;
  }
  [[nodiscard]] bool has_left() const override { return is_gone_; }

 protected:
  Rpc& rpc_;

 private:
  service::ExecOffsets from_;
  OnGone on_gone_;
  int gone_;
  bool is_gone_ = false;
};

// A client that sends input, window sizes and signals while it is sent the output.
class Interacting : public Streaming {
 public:
  enum class OnEnd { EndInput, KeepOpen };
  Interacting(Rpc& rpc, OnEnd on_end)
      : Streaming(rpc, {}, OnGone::Cancel),
        on_end_(on_end),
        has_input_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        messages_(rpc.input_descriptor()) {}

  [[nodiscard]] int input_descriptor() const override { return has_input_.get(); }
  std::string read_input(std::size_t most) override {
    std::string piece = input_.substr(0, most);
    input_.erase(0, piece.size());
    eventfd_t ignored = 0;
    const bool says_end = has_ended_ && on_end_ == OnEnd::EndInput;
    if (input_.empty() && !says_end) ::eventfd_read(has_input_.get(), &ignored);
    return piece;
  }

  // Reads no more messages while the client sends input faster than the command reads it.
  [[nodiscard]] int event_descriptor() const override {
    const bool takes_more = !has_ended_ && input_.size() <= kMostHeldInput;
    return takes_more ? messages_ : Streaming::event_descriptor();
  }

  std::optional<wire::ExecEvent> next_event() override {
    while (!has_ended_ && input_.size() <= kMostHeldInput) {
      v1::ExecInput message;
      const auto next = rpc_.read(message, Deadline::in(std::chrono::seconds(0)));
      if (next && *next == Rpc::Next::Nothing) return std::nullopt;
      if (!next || *next == Rpc::Next::Ended) {
        has_ended_ = true;
        if (on_end_ == OnEnd::EndInput) ::eventfd_write(has_input_.get(), 1);
        if (!next) return wire::CancelExec{};
        break;
      }
      if (auto event = event_of(message)) return event;
    }
    return Streaming::next_event();
  }

 private:
  // nullopt for input, and for a message without meaning, which is ignored.
  std::optional<wire::ExecEvent> event_of(const v1::ExecInput& message) {
    if (message.has_data()) {
      input_ += message.data();
      if (!input_.empty()) ::eventfd_write(has_input_.get(), 1);
    } else if (message.has_signal()) {
      if (message.signal() < 1 || message.signal() > 64) return std::nullopt;
      return wire::SendSignal{static_cast<int>(message.signal())};
    } else if (message.has_window()) {
      const v1::WindowSize& window = message.window();
      const auto fits = [](std::int64_t side) { return side >= 1 && side <= 10'000; };
      if (!fits(window.rows()) || !fits(window.columns())) return std::nullopt;
      return WindowSize{static_cast<std::uint16_t>(window.rows()),
                        static_cast<std::uint16_t>(window.columns())};
    }
    return std::nullopt;
  }

  OnEnd on_end_;
  UniqueFd has_input_;
  int messages_;
  std::string input_;
  bool has_ended_ = false;
};

Result<> exec(RpcCall& call) {
  const auto& message = static_cast<const v1::ExecRequest&>(call.request);
  Wanted wanted = TRY(wanted_of(message, call));
  if (message.has_stdin()) wanted.request.standard_input = StandardInput::Streamed;
  Waiting client(call.rpc, call.service.output_room(call.caller), message.stdin());
  const auto done =
      TRY(call.service.exec(call.caller, wanted.id, wanted.request, wanted.options, client));
  auto& reply = static_cast<v1::ExecResult&>(call.reply);
  fill_result(reply, done, wanted.options);
  reply.set_stdout(std::move(client.output));
  reply.set_stderr(std::move(client.error));
  return {};
}

Result<Wanted> wanted_without_input(const RpcCall& call) {
  const auto& message = static_cast<const v1::ExecRequest&>(call.request);
  if (message.has_stdin()) {
    return failure(ErrorCode::Unsupported,
                   "stdin can be given only where the answer is awaited; use InteractExec");
  }
  return wanted_of(message, call);
}

Result<> start_exec(RpcCall& call) {
  const Wanted wanted = TRY(wanted_without_input(call));
  const auto state =
      TRY(call.service.start_exec(call.caller, wanted.id, wanted.request, wanted.options));
  fill(call.reply, to_json(state));
  return {};
}

struct Followed {
  std::string id;
  std::string exec;
  service::ExecOffsets from = {};
  Streaming::OnGone on_gone = Streaming::OnGone::Leave;
};

// Follows the exec to its end, or until the client is gone.
Result<> follow(RpcCall& call, const Followed& followed) {
  v1::ExecEvent event;
  event.set_started(followed.exec);
  TRY(call.rpc.write(event));
  Streaming client(call.rpc, followed.from, followed.on_gone);
  const auto state = TRY(call.service.follow_exec(
      call.caller, followed.id, followed.exec, followed.from, Deadline::in(kLongestLook), client));
  event.Clear();
  if (state.ending) {
    fill(*event.mutable_ended(), to_json(*state.ending));
    event.mutable_ended()->set_audit_id(static_cast<std::int64_t>(state.audit_id));
  } else {
    event.set_running(followed.exec);
  }
  return call.rpc.write(event);
}

Result<> stream_exec(RpcCall& call) {
  const auto& message = static_cast<const v1::ExecRequest&>(call.request);
  const Wanted wanted = TRY(wanted_without_input(call));
  const auto state =
      TRY(call.service.start_exec(call.caller, wanted.id, wanted.request, wanted.options));
  const bool cancels = message.on_disconnect() == "cancel";
  return follow(call, {wanted.id,
                       state.exec_id,
                       {},
                       cancels ? Streaming::OnGone::Cancel : Streaming::OnGone::Leave});
}

Result<> follow_exec(RpcCall& call) {
  const auto& message = static_cast<const v1::FollowRequest&>(call.request);
  if (message.stdout_offset() < 0 || message.stderr_offset() < 0) {
    return failure(ErrorCode::InvalidArgument, "an offset is at least 0");
  }
  TRY(call.service.find_exec(call.caller, message.id(), message.exec()));
  return follow(call, {message.id(),
                       message.exec(),
                       {static_cast<std::uint64_t>(message.stdout_offset()),
                        static_cast<std::uint64_t>(message.stderr_offset())}});
}

Result<> interact(RpcCall& call, Terminal terminal) {
  const auto& first = static_cast<const v1::ExecInput&>(call.request);
  if (!first.has_start() || first.start().has_stdin()) {
    return failure(ErrorCode::InvalidArgument, "the first message must be 'start', without stdin");
  }
  Wanted wanted = TRY(wanted_of(first.start(), call));
  wanted.request.terminal = terminal;
  wanted.request.standard_input = StandardInput::Streamed;
  const bool is_terminal = terminal == Terminal::Pty;
  Interacting client(call.rpc,
                     is_terminal ? Interacting::OnEnd::KeepOpen : Interacting::OnEnd::EndInput);
  const auto done =
      TRY(call.service.exec(call.caller, wanted.id, wanted.request, wanted.options, client));
  v1::ExecEvent event;
  fill_result(*event.mutable_ended(), done, wanted.options);
  return call.rpc.write(event);
}

Result<> open_terminal(RpcCall& call) {
  return interact(call, Terminal::Pty);
}

Result<> interact_exec(RpcCall& call) {
  return interact(call, Terminal::None);
}

}  // namespace

std::vector<Method> exec_methods() {
  return {{"Exec", exec},
          {"StartExec", start_exec},
          {"StreamExec", stream_exec},
          {"FollowExec", follow_exec},
          {"OpenTerminal", open_terminal},
          {"InteractExec", interact_exec}};
}

}  // namespace nutshell::server
