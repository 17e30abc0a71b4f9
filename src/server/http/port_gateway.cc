#include "server/http/port_gateway.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "http/client.h"
#include "server/http/problem.h"
#include "service/execs/init_streams.h"

namespace nutshell::server {
namespace {

using std::string_view;

constexpr std::size_t kSegments = 6;  // up to the token
constexpr std::size_t kMostHeldBody = 1U << 20U;
constexpr std::size_t kPartBytes = 64U << 10U;
constexpr std::chrono::minutes kAnswerTime{10};

// Fields about one connection, not about the message (RFC 9110, 7.6.1).
constexpr auto kOfConnection = std::to_array<string_view>(
    {"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
     "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Expect"});
// The daemon's token and cookies of other services of this host are not for a sandbox.
constexpr auto kNotForServer = std::to_array<string_view>(
    {"Host", "Authorization", "Cookie", "Referer", "Origin", "Forwarded", "X-Forwarded-For",
     "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP"});
// Fields that speak for the whole origin, which is the daemon's, or that we set.
constexpr auto kNotForClient = std::to_array<string_view>(
    {"Set-Cookie", "Set-Cookie2", "WWW-Authenticate", "Access-Control-Allow-Origin",
     "Access-Control-Allow-Credentials", "Referrer-Policy", "Strict-Transport-Security",
     "Public-Key-Pins", "Service-Worker-Allowed", "Clear-Site-Data", "Alt-Svc", "NEL", "Report-To",
     "Reporting-Endpoints", "Location"});

bool contains(const auto& names, string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [name](string_view one) { return http::equal_in_any_case(one, name); });
}

bool is_of_connection(const http::Headers& headers, string_view name) {
  return contains(kOfConnection, name) || headers.has_word("Connection", name);
}

http::Headers headers_for_server(const http::Headers& given, std::uint16_t port) {
  http::Headers headers;
  for (const http::Header& header : given) {
    if (!is_of_connection(given, header.name) && !contains(kNotForServer, header.name))
      headers.add(header.name, header.value);
  }
  // Servers refuse pages of other origins; to this one the page is its own.
  if (given.find("Origin") != nullptr)
    headers.add("Origin", fmt::format("http://localhost:{}", port));
  return headers;
}

http::Headers headers_for_client(const http::Headers& given, const PortRequest& request) {
  http::Headers headers;
  for (const http::Header& header : given) {
    if (!is_of_connection(given, header.name) && !contains(kNotForClient, header.name))
      headers.add(header.name, header.value);
  }
  if (const std::string* location = given.find("Location"))
    headers.add("Location", location_outside(*location, request.ticket.port, request.prefix));
  // Without allow-same-origin a page is of no origin, so it cannot use the daemon as its user.
  headers.add("Content-Security-Policy",
              "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts");
  headers.add("Referrer-Policy", "no-referrer");
  headers.add("Access-Control-Allow-Origin", "*");  // for its own pages, which are of no origin
  return headers;
}

Result<> answer_preflight(http::Exchange& exchange) {
  http::Headers headers{{"Access-Control-Allow-Origin", "*"},
                        {"Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE"},
                        {"Access-Control-Max-Age", "600"}};
  const string_view wanted = exchange.headers().get("Access-Control-Request-Headers");
  if (!wanted.empty()) headers.add("Access-Control-Allow-Headers", std::string(wanted));
  return exchange.respond(204, headers, "");
}

bool is_preflight(const http::Exchange& exchange) {
  return exchange.method() == "OPTIONS" &&
         exchange.headers().find("Access-Control-Request-Method") != nullptr;
}

// Writes the query anew; an empty value loses its equals sign.
std::string query_text_of(const http::Target& target) {
  std::string text;
  for (const auto& [name, value] : target.query) {
    text += (text.empty() ? "?" : "&") + http::percent_encode(name);
    if (!value.empty()) text += "=" + http::percent_encode(value);
  }
  return text;
}

Result<> redirect_into(http::Exchange& exchange, const PortRequest& request) {
  const std::string place = fmt::format("{}/{}", request.prefix, query_text_of(exchange.target()));
  return exchange.respond(307, {{"Location", place}}, "");
}

Result<http::Client::Request> request_for_server(http::Exchange& exchange,
                                                 const PortRequest& request) {
  http::Client::Request asked;
  asked.method = exchange.method();
  asked.target = request.target;
  asked.headers = headers_for_server(exchange.headers(), request.ticket.port);
  const bool has_body = exchange.content_length().value_or(0) > 0;
  const bool is_chunked = exchange.headers().has_word("Transfer-Encoding", "chunked");
  if (is_chunked || (has_body && *exchange.content_length() > kMostHeldBody)) {
    asked.source = [&exchange](std::size_t most) { return exchange.read_body_part(most); };
  } else if (has_body) {  // with its length, because small servers know nothing else
    asked.body = TRY(exchange.read_body(kMostHeldBody));
  }
  return asked;
}

Result<> carry_websocket(http::Exchange& exchange, http::Client& client,
                         const http::Client::Request& asked, const PortRequest& request) {
  auto answer = TRY(client.request_upgrade(asked, "websocket", Deadline::in(kAnswerTime)));
  if (answer.status != 101) {
    return exchange.respond(answer.status, headers_for_client(answer.headers, request),
                            answer.body);
  }
  http::Exchange::RelayTarget target;
  target.stream = answer.transport->descriptor();
  for (const http::Header& header : answer.headers) {
    constexpr string_view kOurs = "Sec-WebSocket-";
    if (http::equal_in_any_case(string_view(header.name).substr(0, kOurs.size()), kOurs))
      target.headers.add(header.name, header.value);
  }
  return exchange.upgrade_and_relay("websocket", target);
}

Result<> carry_answer(http::Exchange& exchange, http::Client& client,
                      const http::ResponseHead& head, const PortRequest& request) {
  if (head.status < 200) {
    return failure(ErrorCode::Corrupt, "the server in the sandbox answers what nobody asked for");
  }
  const http::Headers headers = headers_for_client(head.headers, request);
  if (head.status == 204 || head.status == 304) return exchange.respond(head.status, headers, "");
  TRY(exchange.begin_stream(head.status, headers));
  for (;;) {
    const std::string part = TRY(client.read_part(kPartBytes, Deadline::never()));
    if (part.empty()) return exchange.finish();
    TRY(exchange.write(part));
  }
}

// Passes the request on over this connection.
Result<> pass_over(http::Exchange& exchange, UniqueFd socket, const PortRequest& request) {
  http::Client::Options options;
  options.dial = [&socket](const Deadline& /*it is connected*/) -> Result<UniqueFd> {
    if (!socket) return failure(ErrorCode::Unavailable, "the connection is used up");
    return std::move(socket);
  };
  options.host = fmt::format("localhost:{}", request.ticket.port);
  http::Client client(std::move(options));
  http::Client::Request asked = TRY(request_for_server(exchange, request));
  if (exchange.method() == "GET" && exchange.headers().has_word("Upgrade", "websocket"))
    return carry_websocket(exchange, client, asked, request);
  asked.headers.add("Connection", "close");
  const auto head = TRY(client.begin(asked, Deadline::in(kAnswerTime)));
  return carry_answer(exchange, client, head, request);
}

int status_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::Unavailable:
    case ErrorCode::Corrupt:
      return 502;
    case ErrorCode::DeadlineExceeded:
      return 504;
    default:
      return forms_of(error.code).http_status;
  }
}

}  // namespace

std::string path_of(const service::PortView& view) {
  return fmt::format("/v1/sandboxes/{}/ports/{}/{}/", view.sandbox, view.port, view.token);
}

std::optional<PortRequest> port_request_of(const http::Target& target) {
  const auto& segments = target.segments;
  if (segments.size() < kSegments || segments[0] != "v1" || segments[1] != "sandboxes" ||
      segments[3] != "ports")
    return std::nullopt;
  PortRequest request;
  const std::string& port = segments[4];
  const auto [end, error] =
      std::from_chars(port.data(), port.data() + port.size(), request.ticket.port);
  if (error != std::errc() || end != port.data() + port.size()) return std::nullopt;
  request.ticket.sandbox = segments[2];
  request.ticket.token = segments[5];
  std::size_t slash = 0;
  for (std::size_t i = 0; i < kSegments && slash != std::string::npos; ++i)
    slash = target.path.find('/', slash + 1);
  request.prefix = string_view(target.path).substr(0, slash);
  if (slash == std::string::npos) return request;
  request.target = target.path.substr(slash) + query_text_of(target);
  return request;
}

std::optional<http::Admission> admission_of_port(service::Service& service,
                                                 const http::RequestHead& head) {
  const auto request = port_request_of(head.target);
  if (!request) return std::nullopt;
  const auto tenant = service.streams().ports().tenant_of(request->ticket);
  if (!tenant) return std::nullopt;
  return http::Admission{http::CallerKind::Tenant, "tenant " + *tenant, "URL of a port"};
}

std::string location_outside(string_view location, std::uint16_t port, string_view prefix) {
  string_view path = location;
  for (const string_view host : {"localhost", "127.0.0.1", "[::1]"}) {
    const std::string own = fmt::format("http://{}:{}", host, port);
    if (!path.starts_with(own)) continue;
    const string_view rest = path.substr(own.size());
    if (rest.empty() || rest.front() == '/') path = rest.empty() ? string_view("/") : rest;
  }
  // "//host/" names another host.
  const bool is_own_path = path.starts_with('/') && !path.starts_with("//");
  return is_own_path ? fmt::format("{}{}", prefix, path) : std::string(location);
}

Result<> pass_to_port(Call& call) {
  http::Exchange& exchange = *call.exchange;
  const auto request = port_request_of(exchange.target());
  if (!request) return failure(ErrorCode::NotFound, "no route has this path");
  service::Ports& ports = call.service.streams().ports();
  const bool is_valid = ports.tenant_of(request->ticket).has_value();
  if (is_valid && request->target.empty()) return redirect_into(exchange, *request);
  if (is_valid && is_preflight(exchange)) return answer_preflight(exchange);
  auto connection = ports.connect(request->ticket, exchange.hang_up_descriptor());
  if (!connection) {
    return reply_problem(exchange, status_of(connection.error()), connection.error());
  }
  auto passed = pass_over(exchange, connection->socket->take(), *request);
  if (passed || exchange.is_answered()) return passed;
  return reply_problem(exchange, status_of(passed.error()), passed.error());
}

}  // namespace nutshell::server
