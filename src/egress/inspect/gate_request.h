// Reads one request of a sandbox as strictly as a firewall has to, and writes it anew: no byte of a
// head reaches the server that was not understood here. Does no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "egress/inspect/flow_guard.h"
#include "http/message.h"
#include "http/parser.h"

namespace nutshell::egress {

struct GateRequest {
  HttpRequestHead named;
  std::string target;      // "/path?query", or "*"
  std::string host_field;  // as sent
  http::Headers headers;   // those meant for the server, without Host and the body's length
  bool keeps_alive = false;
  bool is_http_11 = true;
  bool is_chunked = false;
  std::optional<std::uint64_t> content_length;
  bool expects_continue = false;
  bool wants_websocket = false;

  [[nodiscard]] bool has_body() const { return is_chunked || content_length.value_or(0) > 0; }
};

struct GateScheme {
  std::string name;  // "http" or "https"
  std::uint16_t default_port = 80;
};

// `head` is a whole head, as http::head_length() finds it. `parser` is new, and reads the body
// afterwards. If a request is refused, `request.named` holds what was understood of it.
std::optional<http::Refusal> read_request(std::string_view head, const GateScheme& scheme,
                                          http::RequestParser& parser, GateRequest& request);

// The head to send to the server. With `length` the body has that many bytes; without it, the body
// is chunked if the request has one.
std::string write_request(const GateRequest& request, std::optional<std::uint64_t> length);

// Whether a field concerns one connection only, or was named by Connection, so that it is not
// passed on. Framing and Upgrade count among them: both sides of the gate have their own.
bool is_for_one_connection(const http::Headers& headers, std::string_view name);

}  // namespace nutshell::egress
