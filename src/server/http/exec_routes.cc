#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/utf8.h"
#include "core/json_text.h"
#include "http/websocket.h"
#include "server/http/exec_io.h"
#include "server/http/json.h"
#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "server/http/views.h"

namespace nutshell::server {
namespace {

// The longest wait for news of a running exec; the client asks again.
constexpr auto kLongestLook = std::chrono::hours(1);
// Output of more bytes than this is sent in pieces.
constexpr std::size_t kMostAtOnce = 1U << 20U;

std::optional<StreamFormat> wanted_stream(const Call& call) {
  if (call.exchange == nullptr) return std::nullopt;
  const http::Headers& headers = call.exchange->headers();
  if (headers.has_word("Accept", "application/x-ndjson")) return StreamFormat::Lines;
  if (headers.has_word("Accept", "text/event-stream")) return StreamFormat::ServerSentEvents;
  return std::nullopt;
}

// The text of a JSON member, in pieces: print(piece) gives each.
template <typename Print>
Result<> write_member(http::Exchange& exchange, std::string_view name, std::string_view bytes,
                      const Print& print) {
  constexpr std::size_t kPiece = 3U << 16U;  // a multiple of three, for base64
  TRY(exchange.write(fmt::format(",\"{}\":\"", name)));
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, kPiece);
    bytes.remove_prefix(piece.size());
    TRY(exchange.write(print(piece, bytes)));
  }
  return exchange.write("\"");
}

Result<> write_stream(http::Exchange& exchange, const std::string& name, std::string_view bytes) {
  TRY(write_member(exchange, name, bytes, [](std::string_view& piece, std::string_view& rest) {
    // A character that the cut would divide belongs to the next piece.
    const std::size_t tail = rest.empty() ? 0 : unfinished_tail(piece);
    rest = {rest.data() - tail, rest.size() + tail};
    piece.remove_suffix(tail);
    const std::string text = dump_json(Json(piece));
    return text.substr(1, text.size() - 2);
  }));
  if (is_utf8(bytes)) return {};
  return write_member(exchange, name + "_base64", bytes,
                      [](std::string_view& piece, std::string_view&) { return to_base64(piece); });
}

// Writes the same object as for little output, but never holds large output a second time as JSON.
Result<> reply_in_pieces(Call& call, const Json& head, const std::string& output,
                         const std::string& error) {
  http::Exchange& exchange = *call.exchange;
  TRY(exchange.begin_stream(200, {{"Content-Type", "application/json"}}));
  std::string text = dump_json(head);
  text.pop_back();
  TRY(exchange.write(text));
  TRY(write_stream(exchange, "stdout", output));
  TRY(write_stream(exchange, "stderr", error));
  TRY(exchange.write("}"));
  return exchange.finish();
}

// Follows the exec to its end, or until the client hangs up.
Result<> follow(Call& call, const std::string& exec, StreamingClient::Terms terms) {
  const bool is_lines = terms.format == StreamFormat::Lines;
  TRY(call.exchange->begin_stream(
      200, {{"Content-Type", is_lines ? "application/x-ndjson" : "text/event-stream"},
            {"Cache-Control", "no-cache"}}));
  StreamingClient client(*call.exchange, terms);
  TRY(client.send("start", dump_json(Json{{"type", "start"}, {"exec_id", exec}})));
  const auto state = call.service.follow_exec(call.caller, call.id(), exec,
                                              {terms.output_offset, terms.error_offset},
                                              Deadline::in(kLongestLook), client);
  client.flush();
  if (client.is_gone()) return failure(ErrorCode::Unavailable, "the client hung up");
  Json last;
  if (!state) {
    last = {{"type", "error"},
            {"code", to_string(state.error().code)},
            {"detail", state.error().message}};
  } else if (state->ending) {
    last = {{"type", "end"}};
    last.update(to_json(*state->ending));
    last["audit_id"] = state->audit_id;
  } else {
    last = {{"type", "running"}, {"exec_id", exec}};
  }
  TRY(client.send(last["type"].get<std::string>(), dump_json(last)));
  return call.exchange->finish();
}

Result<> stream_new(Call& call, StreamFormat format, const ExecRequest& request,
                    const service::ExecOptions& options) {
  StreamingClient::Terms terms;
  terms.format = format;
  const bool cancels = text_of(call.body, "on_disconnect", "keep") == "cancel";
  terms.on_hang_up = cancels ? StreamingClient::OnHangUp::Cancel : StreamingClient::OnHangUp::Leave;
  const auto state = TRY(call.service.start_exec(call.caller, call.id(), request, options));
  return follow(call, state.exec_id, terms);
}

Result<> exec(Call& call) {
  const ExecRequest request = TRY(exec_of(call.body));
  service::ExecOptions options;
  options.trace = trace_of(call.body);
  options.idempotency_key = call.idempotency_key;
  const auto format = wanted_stream(call);
  const bool is_detached = is_true(call.body, "detach");
  if ((format || is_detached) && request.standard_input == StandardInput::Streamed) {
    return failure(ErrorCode::Unsupported,
                   "stdin can be given only where the answer is awaited; use a file, or the "
                   "terminal route");
  }
  if (format && !is_detached) return stream_new(call, *format, request, options);
  if (is_detached) {
    const auto state = TRY(call.service.start_exec(call.caller, call.id(), request, options));
    return reply(call, 202, to_json(state));
  }
  std::optional<std::string> input;
  if (call.body.contains("stdin")) input = text_of(call.body, "stdin");
  WaitingClient client(*call.exchange, call.service.output_room(call.caller), std::move(input));
  const auto done = TRY(call.service.exec(call.caller, call.id(), request, options, client));
  const auto add_rest = [&](Json& body) {
    body["audit_id"] = done.audit_id;
    if (options.trace != service::TraceLevel::Off) body["trace"] = to_json(done.trace);
  };
  if (client.output.size() + client.error.size() > kMostAtOnce) {
    Json body = to_json(done.result);
    add_rest(body);
    return reply_in_pieces(call, body, client.output, client.error);
  }
  Json body = to_json(done.result, client.output, client.error);
  add_rest(body);
  return reply(call, 200, body);
}

Result<> find_exec(Call& call) {
  const std::string& exec_id = call.captured[1];
  StreamingClient::Terms terms;
  terms.output_offset = TRY(number_parameter(call, "stdout_offset", 0));
  terms.error_offset = TRY(number_parameter(call, "stderr_offset", 0));
  const auto state = TRY(call.service.find_exec(call.caller, call.id(), exec_id));
  const auto format = wanted_stream(call);
  if (!format) return reply(call, 200, to_json(state));
  TRY(service::check_offsets({terms.output_offset, terms.error_offset}, state));
  terms.format = *format;
  return follow(call, exec_id, terms);
}

Result<> signal_exec(Call& call) {
  wire::ExecEvent event = wire::CancelExec{};
  if (call.body.contains("signal")) {
    event = wire::SendSignal{static_cast<int>(number_of(call.body, "signal", 0))};
  }
  TRY(call.service.signal_exec(call.caller, call.id(), call.captured[1], event));
  return reply_nothing(call);
}

}  // namespace

std::vector<Route> exec_routes() {
  using enum Field::Type;
  return {{.method = "POST",
           .path = "/v1/sandboxes/{id}/exec",
           .name = "exec",
           .summary = "Run a command. With Accept: application/x-ndjson or text/event-stream its "
                      "output comes as it is written",
           .handle = exec,
           .takes = exec_shape,
           .gives = exec_result_shape,
           .others = {{202, exec_state_shape}},
           .body = Route::Body::Object,
           .most_body_bytes = kMostContentBytes,
           .takes_idempotency_key = true},
          {.method = "GET",
           .path = "/v1/sandboxes/{id}/exec/{exec}",
           .name = "getExec",
           .summary = "A detached or streamed exec; as a stream, its output from these offsets on",
           .handle = find_exec,
           .query = {{.name = "stdout_offset", .type = Integer, .least = 0},
                     {.name = "stderr_offset", .type = Integer, .least = 0}},
           .gives = exec_state_shape},
          {.method = "POST",
           .path = "/v1/sandboxes/{id}/exec/{exec}/signal",
           .name = "signalExec",
           .summary = "Send it a signal, or end it with all its processes",
           .handle = signal_exec,
           .takes = signal_shape,
           .success = 204,
           .body = Route::Body::Object}};
}

}  // namespace nutshell::server
