// The protocol over streamable HTTP, to be mounted at one path of an HTTP server. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/exchange.h"
#include "server/mcp/hang_up_watch.h"
#include "server/mcp/http_channel.h"
#include "server/mcp/http_guard.h"
#include "server/mcp/server.h"

namespace nutshell::mcp {

// Who sends a request, proved by whoever lets it in.
struct Visitor {
  std::string owner;  // of one token or certificate: sessions are bound to it
  std::string name;   // of the work it goes on with; empty: it names none
};

struct HttpEndpointOptions {
  // Of handle(exchange) alone, like the next.
  AllowedNames names;
  // Whose request it is, by its token; nothing: refused. Not given: everybody is the same owner.
  std::function<std::optional<std::string>(const http::Exchange&)> owner_of;
  // The revision of a session that began before this server did; nothing: there is none.
  std::function<std::optional<std::string>(const Client&)> revive;
  // For clients that get their tokens from an authorization server: where we are, and who gives
  // them (RFC 9728). Empty: there is none.
  std::string resource_url;
  std::vector<std::string> authorization_servers;
  std::size_t most_sessions = 4096;
  std::size_t most_sessions_of_one = 256;             // owner; its least used one ends for another
  std::chrono::milliseconds session_time{3'600'000};  // without a request
};

class HttpEndpoint {
 public:
  HttpEndpoint(Server& server, HttpEndpointOptions options)
      : server_(server), options_(std::move(options)) {}

  void handle(http::Exchange& exchange);
  // Where the door of the program has let it in.
  void handle(http::Exchange& exchange, const Visitor& visitor);
  // The way to a token, for WWW-Authenticate.
  [[nodiscard]] std::string challenge() const;
  // Of /.well-known/oauth-protected-resource, and the same with our path behind it.
  void handle_metadata(http::Exchange& exchange) const;

 private:
  // Used by requests on other threads while it is ended here.
  using SessionPointer = std::shared_ptr<Session>;
  struct Request;

  void post(http::Exchange& exchange, const Visitor& visitor);
  void post_stateless(Request& request, Message message);
  void post_in_session(Request& request, Parcel parcel);
  void initialize(Request& request, Message message);
  void serve(http::Exchange& exchange, const Server::Way& way, Message message);
  void hold_open(http::Exchange& exchange, HttpChannel& channel, const Server::CallPointer& call);
  void end_session(http::Exchange& exchange, const Visitor& visitor);

  bool keep(const SessionPointer& session);
  SessionPointer find_session(const std::string& id, const Visitor& visitor);
  SessionPointer find_kept(const std::string& id, const Visitor& visitor);
  SessionPointer revive(const std::string& id, const Visitor& visitor);
  bool make_room(const std::string& owner);

  Server& server_;
  HttpEndpointOptions options_;
  HangUpWatch hang_ups_;
  std::mutex mutex_;
  std::map<std::string, SessionPointer> sessions_;
};

}  // namespace nutshell::mcp
