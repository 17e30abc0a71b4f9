#include <sys/socket.h>

#include <array>
#include <cstdlib>

#include "base/socket.h"
#include "base/utf8.h"
#include "entry_points.h"
#include "http/parser.h"
#include "http/websocket.h"

namespace nutshell::fuzz {
namespace {

void read_request(std::string_view input) {
  const std::size_t length = http::head_length(input);
  if (length == 0) return;
  http::RequestParser parser;
  http::RequestHead head;
  if (parser.take_head(input.substr(0, length), head)) return;
  if (head.is_chunked && head.content_length) std::abort();  // two lengths
  input.remove_prefix(length);
  std::array<char, 64> space{};
  while (!parser.is_done()) {
    const auto step = parser.take_body(input, space.data(), space.size());
    if (!step) return;
    if (step->consumed > input.size() || step->produced > space.size()) std::abort();
    if (step->consumed == 0 && step->produced == 0) return;
    input.remove_prefix(step->consumed);
  }
}

void read_messages(std::string_view input) {
  constexpr std::size_t kMost = 1000;
  auto pair = make_socket_pair(SocketKind::Stream);
  if (!pair) return;
  http::WebSocket::Options options;
  options.most_message_bytes = kMost;
  auto transport = http::make_bare_transport(std::move(pair->first));
  http::WebSocket socket(std::move(*transport), std::string(input), options);
  pair->second.reset();
  for (;;) {
    const auto received = socket.take_next();
    if (!received || received->event != http::WebSocket::Event::Message) return;
    if (received->bytes.size() > kMost) std::abort();
    const bool is_text = received->kind == http::WebSocket::Kind::Text;
    if (is_text && !is_utf8(received->bytes)) std::abort();
  }
}

}  // namespace

// The first byte chooses between the two.
void fuzz_http(std::string_view input) {
  if (input.empty()) return;
  const bool is_request = (static_cast<unsigned char>(input[0]) & 1U) == 0;
  input.remove_prefix(1);
  is_request ? read_request(input) : read_messages(input);
}

}  // namespace nutshell::fuzz
