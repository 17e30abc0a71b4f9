#include "daemon/bridge.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "core/daemon_access.h"
#include "http/client.h"
#include "http/tls/tls.h"
#include "http/transport.h"

namespace nutshell::daemon {
namespace {

using namespace std::chrono_literals;

constexpr auto kConnectTime = 20s;

struct Place {
  std::string host;
  std::uint16_t port = 0;
  bool has_tls = false;
};

Result<Place> place_of(const std::string& url) {
  const std::string text = TRY(parse_daemon_address(url)).url;
  if (text.empty()) return failure(ErrorCode::InvalidArgument, url + " is no URL");
  Place place;
  place.has_tls = text.starts_with("https://");
  const std::string rest = text.substr(text.find("://") + 3);
  const std::size_t colon = rest.rfind(':');
  place.host = rest.substr(0, colon);
  if (place.host.starts_with('[') && place.host.ends_with(']')) {
    place.host = place.host.substr(1, place.host.size() - 2);
  }
  const auto [end, error] =
      std::from_chars(rest.data() + colon + 1, rest.data() + rest.size(), place.port);
  if (error == std::errc() && place.port != 0) return place;
  return failure(ErrorCode::InvalidArgument, url + " has no port");
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? "" : value;
}

Result<std::unique_ptr<http::Transport>> reach(const Place& place) {
  const Deadline deadline = Deadline::in(kConnectTime);
  http::MakeTransport make = http::make_bare_transport;
  if (place.has_tls) {
    make = TRY(http::tls_client({place.host, from_environment("NUTSHELL_DAEMON_CA"),
                                 from_environment("NUTSHELL_DAEMON_CERT"),
                                 from_environment("NUTSHELL_DAEMON_KEY")}));
  }
  auto transport = TRY(make(TRY(http::dial_tcp(place.host, place.port)(deadline))));
  TRY(transport->finish_handshake(deadline));
  return transport;
}

Result<std::unique_ptr<http::Transport>> reach(const std::string& url) {
  return reach(TRY(place_of(url)));
}

Result<> answer_for(const Error& error) {
  const std::string body =
      nlohmann::json{{"code", to_string(error.code)}, {"detail", error.message}}.dump(
          -1, ' ', false, nlohmann::json::error_handler_t::replace);
  return write_all(STDIN_FILENO, fmt::format("HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n"
                                             "Content-Type: application/problem+json\r\n"
                                             "Content-Length: {}\r\n\r\n{}",
                                             body.size(), body));
}

}  // namespace

Result<> run_bridge(const std::string& url) {
  std::signal(SIGPIPE, SIG_IGN);
  ::close(STDOUT_FILENO);  // the same socket, which is closed with its last descriptor
  auto transport = reach(url);
  if (!transport) return answer_for(transport.error());
  return http::relay(**transport, STDIN_FILENO, {[] { return false; }});
}

}  // namespace nutshell::daemon
