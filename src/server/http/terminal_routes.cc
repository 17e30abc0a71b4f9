#include <fmt/format.h>
#include <sys/eventfd.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "server/http/problem.h"
#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "server/http/views.h"

namespace nutshell::server {
namespace {

constexpr std::size_t kMostMessageBytes = 64U << 10U;
constexpr std::size_t kMostHeldInput = 1U << 20U;

// A terminal at the other end of a WebSocket. Binary messages are what is typed and shown; text
// messages are {"rows":…,"columns":…} or {"signal":…}.
class WebTerminal : public wire::ExecIo {
 public:
  explicit WebTerminal(http::WebSocket& socket)
      : socket_(socket), has_input_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  Taken take(wire::Stream /*a terminal has one*/, std::string_view bytes) override {
    if (is_closed_ || !socket_.send(http::WebSocket::Kind::Binary, bytes)) return Taken::ReaderGone;
    return Taken::Yes;
  }

  [[nodiscard]] int input_descriptor() const override { return has_input_.get(); }
  std::string read_input(std::size_t most) override {
    std::string piece = input_.substr(0, most);
    input_.erase(0, piece.size());
    eventfd_t ignored = 0;
    if (input_.empty() && !is_closed_) ::eventfd_read(has_input_.get(), &ignored);
    return piece;
  }

  // Reads no more while the client sends input faster than the command reads it.
  [[nodiscard]] int event_descriptor() const override {
    return is_closed_ || input_.size() > kMostHeldInput ? -1 : socket_.descriptor();
  }

  std::optional<wire::ExecEvent> next_event() override {
    while (!is_closed_ && input_.size() <= kMostHeldInput) {
      auto message = socket_.take_next();
      if (!message || message->event == http::WebSocket::Event::Closed) {
        is_closed_ = true;
        return wire::CancelExec{};
      }
      if (message->event == http::WebSocket::Event::Nothing) return std::nullopt;
      if (message->kind == http::WebSocket::Kind::Binary) {
        input_ += message->bytes;
        if (!input_.empty()) ::eventfd_write(has_input_.get(), 1);
      } else if (auto event = event_of(message->bytes)) {
        return event;
      }
    }
    return std::nullopt;
  }

 private:
  // nullopt for a message without meaning, which is ignored.
  static std::optional<wire::ExecEvent> event_of(const std::string& text) {
    const auto message = parse_json(text);
    if (!message || !message->is_object()) return std::nullopt;
    if (message->contains("signal")) {
      const std::uint64_t number = number_of(*message, "signal", 0);
      if (number < 1 || number > 64) return std::nullopt;
      return wire::SendSignal{static_cast<int>(number)};
    }
    const std::uint64_t rows = number_of(*message, "rows", 0);
    const std::uint64_t columns = number_of(*message, "columns", 0);
    if (rows < 1 || columns < 1 || rows > 10'000 || columns > 10'000) return std::nullopt;
    return WindowSize{static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(columns)};
  }

  http::WebSocket& socket_;
  UniqueFd has_input_;
  std::string input_;
  bool is_closed_ = false;
};

Result<ExecRequest> request_of(const Call& call) {
  ExecRequest request;
  for (const auto& [name, value] : call.target.query) {
    if (name == "arg") request.argv.push_back(value);
  }
  if (request.argv.empty()) request.argv = {"/bin/sh"};
  request.terminal = Terminal::Pty;
  request.standard_input = StandardInput::Streamed;
  const auto rows = TRY(number_parameter(call, "rows", 24));
  const auto columns = TRY(number_parameter(call, "columns", 80));
  if (rows < 1 || columns < 1 || rows > 10'000 || columns > 10'000) {
    return failure(ErrorCode::InvalidArgument, "rows and columns must be 1 to 10000");
  }
  request.window = {static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(columns)};
  request.limits.timeout =
      std::chrono::milliseconds(TRY(number_parameter(call, "timeout_ms", 3'600'000)));
  TRY(check_exec(request));
  return request;
}

Result<> open_terminal(Call& call) {
  const ExecRequest request = TRY(request_of(call));
  if (!call.exchange->headers().has_word("Upgrade", "websocket")) {
    return reply_problem(*call.exchange, 426,
                         {ErrorCode::InvalidArgument, "this route needs a WebSocket handshake"},
                         {{"Upgrade", "websocket"}});
  }
  TRY(call.service.find(call.caller,
                        call.id()));  // before the upgrade, errors are problem documents
  auto socket = TRY(call.exchange->upgrade_websocket(kMostMessageBytes));
  WebTerminal terminal(socket);
  const auto done = call.service.exec(call.caller, call.id(), request, {}, terminal);
  Json last;
  if (done) {
    last = to_json(done->result);
    last["audit_id"] = done->audit_id;
  } else {
    last = {{"code", to_string(done.error().code)}, {"detail", done.error().message}};
  }
  // The client may have closed already.
  (void)socket.send(http::WebSocket::Kind::Text, dump_json(last));
  socket.close(1000, "");
  return {};
}

}  // namespace

std::vector<Route> terminal_routes() {
  using enum Field::Type;
  return {{.method = "GET",
           .path = "/v1/sandboxes/{id}/terminal",
           .name = "openTerminal",
           .summary = "A command at a terminal, over a WebSocket",
           .handle = open_terminal,
           .query = {{.name = "arg", .help = "the program, then each argument (/bin/sh)"},
                     {.name = "rows", .type = Integer, .least = 1, .most = 10'000},
                     {.name = "columns", .type = Integer, .least = 1, .most = 10'000},
                     {.name = "timeout_ms", .type = Integer, .least = 1}},
           .success = 101}};
}

}  // namespace nutshell::server
