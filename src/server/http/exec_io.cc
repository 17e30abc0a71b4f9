#include "server/http/exec_io.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/utf8.h"
#include "core/json_text.h"
#include "http/websocket.h"
#include "server/http/json.h"

namespace nutshell::server {

WaitingClient::WaitingClient(http::Exchange& exchange, const service::OutputRoom& room,
                             std::optional<std::string> input)
    : CollectedOutput(room), exchange_(exchange), hang_up_(exchange.hang_up_descriptor()) {
  if (!input) return;
  input_ = std::move(*input);
  always_ready_ = UniqueFd(::eventfd(1, EFD_CLOEXEC));
}

std::string WaitingClient::read_input(std::size_t most) {
  std::string piece = input_.substr(given_, most);
  given_ += piece.size();
  return piece;
}

std::optional<wire::ExecEvent> WaitingClient::next_event() {
  if (hang_up_ < 0 || !exchange_.client_is_gone()) return std::nullopt;
  hang_up_ = -1;  // reported once
  return wire::CancelExec{};
}

StreamingClient::StreamingClient(http::Exchange& exchange, Terms terms)
    : exchange_(exchange),
      terms_(terms),
      output_{terms.output_offset, {}},
      error_{terms.error_offset, {}},
      hang_up_(exchange.hang_up_descriptor()) {}

Result<> StreamingClient::send(std::string_view kind, const std::string& json) {
  // JSON has no line ends of its own, so that no output can look like another event.
  const std::string text = terms_.format == StreamFormat::Lines
                               ? json + "\n"
                               : fmt::format("event: {}\ndata: {}\n\n", kind, json);
  auto sent = exchange_.write(text);
  if (!sent) is_gone_ = true;
  return sent;
}

void StreamingClient::send_piece(wire::Stream stream, std::size_t size) {
  Source& source = source_of(stream);
  const char* kind = stream == wire::Stream::Error ? "stderr" : "stdout";
  Json event = {{"type", kind}, {"offset", source.offset}};
  const std::string_view bytes = std::string_view(source.held).substr(0, size);
  if (is_utf8(bytes)) {
    event["data"] = bytes;
  } else {
    event["data_base64"] = to_base64(bytes);
  }
  (void)send(kind, dump_json(event));  // is_gone() tells
  source.offset += size;
  source.held.erase(0, size);
}

wire::ExecIo::Taken StreamingClient::take(wire::Stream stream, std::string_view bytes) {
  Source& source = source_of(stream);
  source.held += bytes;
  const std::size_t whole = source.held.size() - unfinished_tail(source.held);
  if (whole > 0) send_piece(stream, whole);
  return is_gone_ ? Taken::ReaderGone : Taken::Yes;
}

void StreamingClient::flush() {
  for (const wire::Stream stream : {wire::Stream::Output, wire::Stream::Error}) {
    const std::size_t size = source_of(stream).held.size();
    if (size > 0) send_piece(stream, size);
  }
}

std::optional<wire::ExecEvent> StreamingClient::next_event() {
  if (hang_up_ < 0 || !exchange_.client_is_gone()) return std::nullopt;
  hang_up_ = -1;
  is_gone_ = true;
  if (terms_.on_hang_up == OnHangUp::Cancel) return wire::CancelExec{};
  return std::nullopt;
}

}  // namespace nutshell::server
