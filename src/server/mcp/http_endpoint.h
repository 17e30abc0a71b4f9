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

// The sender of a request, as the caller of handle() has proved it.
struct Visitor {
  std::string owner;  // one for each token or certificate; sessions belong to it
  std::string name;   // of the work it goes on with; empty: it names none
};

struct HttpEndpointOptions {
  // Used by handle(exchange) only, as is `owner_of`.
  AllowedNames names;
  // Finds the owner by the token; nullopt refuses the request. If empty, all requests have one
  // owner.
  std::function<std::optional<std::string>(const http::Exchange&)> owner_of;
  // The revision of a session that began before this server; nullopt if there is no such session.
  std::function<std::optional<std::string>(const Client&)> revive;
  // For clients that get tokens from an authorization server (RFC 9728): our URL, and the servers.
  // Empty if there are none.
  std::string resource_url;
  std::vector<std::string> authorization_servers;
  std::size_t most_sessions = 4096;
  std::size_t most_sessions_of_one = 256;             // owner; its least used one ends for another
  std::chrono::milliseconds session_time{3'600'000};  // a session without requests ends after it
};

class HttpEndpoint {
 public:
  HttpEndpoint(Server& server, HttpEndpointOptions options)
      : server_(server), options_(std::move(options)) {}

  void handle(http::Exchange& exchange);
  // Handles a request whose sender the caller has admitted already.
  void handle(http::Exchange& exchange, const Visitor& visitor);
  // The value of WWW-Authenticate: where a client gets a token.
  [[nodiscard]] std::string challenge() const;
  // Answers /.well-known/oauth-protected-resource, with or without our path behind it.
  void handle_metadata(http::Exchange& exchange) const;

 private:
  // Shared with requests on other threads, which may use it while it is ended here.
  using SessionPointer = std::shared_ptr<Session>;
  struct Request;

  void post(http::Exchange& exchange, const Visitor& visitor);
  void post_stateless(Request& request, Message message);
  void post_in_session(Request& request, MessageBatch batch);
  void initialize(Request& request, Message message);
  void serve(http::Exchange& exchange, const Server::Connection& connection, Message message);
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
