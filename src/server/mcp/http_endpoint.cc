#include "server/mcp/http_endpoint.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/random_id.h"
#include "core/json_text.h"
#include "server/mcp/batch_channel.h"
#include "server/mcp/request_meta.h"

namespace nutshell::mcp {
namespace {

using namespace std::chrono_literals;

constexpr auto kKeepAlive = 15s;
constexpr std::chrono::milliseconds kSilence{10'000};
constexpr std::size_t kSessionDigits = 32;

// Refuses a request with an HTTP status, where the protocol has no answer for it.
void refuse(http::Exchange& exchange, int status, std::string_view why) {
  const Problem problem{kInvalidRequest, std::string(why)};
  (void)exchange.respond(status, {{"Content-Type", "application/json"}},
                         error_message("null", problem));
}

bool takes(const http::Headers& headers, std::string_view type) {
  const std::string_view accept = headers.get("Accept");
  return accept.empty() || accept.find("*/*") != accept.npos || accept.find(type) != accept.npos;
}

bool is_json(const http::Headers& headers) {
  std::string_view type = headers.get("Content-Type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' '))
    type.remove_suffix(1);
  return http::equal_in_any_case(type, "application/json");
}

Client client_of(const Visitor& visitor, std::string session) {
  Client client;
  client.owner = visitor.owner;
  client.name = visitor.name;
  client.session = std::move(session);
  return client;
}

std::size_t answers_to(const MessageBatch& batch) {
  return static_cast<std::size_t>(
      std::count_if(batch.messages.begin(), batch.messages.end(), [](const Message& message) {
        return message.kind == Message::Kind::Request || message.kind == Message::Kind::Refused;
      }));
}

}  // namespace

struct HttpEndpoint::Request {
  http::Exchange& exchange;
  const Visitor& visitor;
};

void HttpEndpoint::handle(http::Exchange& exchange) {
  if (const auto why = check_names(exchange.headers(), options_.names))
    return refuse(exchange, 403, *why);
  Visitor visitor;
  if (options_.owner_of) {
    auto known = options_.owner_of(exchange);
    if (!known) {
      (void)exchange.respond(
          401, {{"WWW-Authenticate", challenge()}, {"Content-Type", "application/json"}},
          error_message("null", {kInvalidRequest,
                                 "a valid token is needed: send 'Authorization: Bearer TOKEN'"}));
      return;
    }
    visitor.owner = std::move(*known);
  }
  handle(exchange, visitor);
}

void HttpEndpoint::handle(http::Exchange& exchange, const Visitor& visitor) {
  if (exchange.method() == "POST") return post(exchange, visitor);
  if (exchange.method() == "DELETE") return end_session(exchange, visitor);
  (void)exchange.respond(405, {{"Allow", "POST, DELETE"}}, "");  // the client may be gone
}

std::string HttpEndpoint::challenge() const {
  if (options_.authorization_servers.empty()) return "Bearer";
  const std::size_t path = options_.resource_url.find('/', options_.resource_url.find("//") + 2);
  const std::string place = options_.resource_url.substr(0, path);
  const std::string rest = path == std::string::npos ? "" : options_.resource_url.substr(path);
  return fmt::format("Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource{}\"",
                     place, rest);
}

void HttpEndpoint::handle_metadata(http::Exchange& exchange) const {
  if (options_.authorization_servers.empty() || exchange.method() != "GET")
    return refuse(exchange, 404, "no authorization servers are configured");
  const Json about = {{"resource", options_.resource_url},
                      {"authorization_servers", options_.authorization_servers},
                      {"bearer_methods_supported", {"header"}}};
  (void)exchange.respond(200, {{"Content-Type", "application/json"}}, dump_json(about));
}

void HttpEndpoint::post(http::Exchange& exchange, const Visitor& visitor) {
  const http::Headers& headers = exchange.headers();
  if (!is_json(headers)) return refuse(exchange, 415, "the body must be application/json");
  if (!takes(headers, "application/json") || !takes(headers, "text/event-stream"))
    return refuse(exchange, 406, "Accept must name application/json and text/event-stream");
  const auto body = exchange.read_body(kMostMessageBytes);
  if (!body) {
    const bool is_large = body.error().code == ErrorCode::TooLarge;
    const bool has_no_memory = body.error().code == ErrorCode::Unavailable;
    return refuse(exchange, is_large ? 413 : has_no_memory ? 503 : 400, "the body cannot be read");
  }
  MessageBatch batch = read_messages(*body);
  Request request{exchange, visitor};
  Message& first = batch.messages.front();
  const bool is_readable = !batch.is_batch && first.kind != Message::Kind::Refused;
  const bool is_stateless =
      is_readable && first.kind != Message::Kind::Response &&
      (headers.get("MCP-Protocol-Version") == kStatelessRevision || names_revision(first) ||
       (first.method == "server/discover" && headers.find("Mcp-Session-Id") == nullptr));
  if (is_stateless) return post_stateless(request, std::move(first));
  if (is_readable && first.method == "initialize") return initialize(request, std::move(first));
  post_in_session(request, std::move(batch));
}

void HttpEndpoint::post_stateless(Request& request, Message message) {
  const auto channel = std::make_shared<HttpChannel>(request.exchange, StatusRule::Stateless);
  if (message.kind == Message::Kind::Notification) {
    (void)request.exchange.respond(202, {}, "");
    return;
  }
  const auto mirrored = message.method == "tools/call"
                            ? server_.host().mirrored(message.text("name"))
                            : std::vector<MirroredParameter>();
  if (const auto wrong = check_headers(request.exchange.headers(), message, mirrored))
    return channel->respond(error_message(message.id, *wrong), wrong->code);
  // A session for this request only.
  const auto session = std::make_shared<Session>(client_of(request.visitor, ""));
  serve(request.exchange, {session, channel, ProtocolForm::Stateless}, std::move(message));
}

void HttpEndpoint::initialize(Request& request, Message message) {
  const auto channel = std::make_shared<HttpChannel>(request.exchange, StatusRule::Plain);
  const std::string id = random_id(kSessionDigits);
  const auto session = std::make_shared<Session>(client_of(request.visitor, id));
  if (!keep(session)) return refuse(request.exchange, 503, "too many sessions");
  channel->set_session(id);
  serve(request.exchange, {session, channel, ProtocolForm::Unknown}, std::move(message));
}

void HttpEndpoint::post_in_session(Request& request, MessageBatch batch) {
  const http::Headers& headers = request.exchange.headers();
  const std::string id(headers.get("Mcp-Session-Id"));
  if (batch.messages.front().kind == Message::Kind::Refused && !batch.is_batch) {
    const Message& refused = batch.messages.front();
    return HttpChannel(request.exchange, StatusRule::Plain)
        .respond(error_message(refused.id, refused.problem), refused.problem.code);
  }
  if (id.empty() || headers.count("Mcp-Session-Id") > 1)
    return refuse(request.exchange, 400, "Mcp-Session-Id is missing: begin with initialize");
  const auto session = find_session(id, request.visitor);
  if (!session) return refuse(request.exchange, 404, "this session has ended: initialize again");
  const std::string revision = session->client().revision;
  const std::string_view named = headers.get("MCP-Protocol-Version");
  if (!named.empty() && named != revision)
    return refuse(request.exchange, 400, "MCP-Protocol-Version is not the one agreed on");
  if (batch.is_batch && revision != "2025-03-26")
    return refuse(request.exchange, 400, "this revision has no batches");
  const std::size_t answers = answers_to(batch);
  const auto below = std::make_shared<HttpChannel>(request.exchange, StatusRule::Plain);
  std::shared_ptr<Channel> channel = below;
  if (batch.is_batch) channel = std::make_shared<BatchChannel>(below, answers);
  for (Message& message : batch.messages)
    serve(request.exchange, {session, channel, ProtocolForm::Unknown}, std::move(message));
  if (answers == 0) (void)request.exchange.respond(202, {}, "");
}

// Runs the call on this thread, which serves only this request. In the stateless revision a client
// cancels by hanging up; in a session the call goes on, unless the client stays silent.
void HttpEndpoint::serve(http::Exchange& exchange, const Server::Connection& connection,
                         Message message) {
  const auto call = server_.begin(connection, std::move(message));
  if (!call) return;
  const int hang_up = exchange.hang_up_descriptor();
  const auto grace = connection.form == ProtocolForm::Stateless ? 0ms : kSilence;
  if (Server::is_subscription(*call)) {
    server_.run(call);
    if (!exchange.is_answered() || exchange.is_streaming())
      hold_open(exchange, static_cast<HttpChannel&>(*connection.channel), call);
    return;
  }
  if (hang_up >= 0) hang_ups_.add(hang_up, call, grace);
  server_.run(call);
  if (hang_up >= 0) hang_ups_.remove(call);
}

void HttpEndpoint::hold_open(http::Exchange& exchange, HttpChannel& channel,
                             const Server::CallPointer& call) {
  const int hang_up = exchange.hang_up_descriptor();
  std::array<pollfd, 2> watched{{{hang_up, POLLIN, 0}, {call->interrupt(), POLLIN, 0}}};
  auto next = Deadline::in(kKeepAlive);
  bool is_open = true;
  while (is_open && !exchange.server_is_stopping()) {
    is_open = ::poll(watched.data(), watched.size(), 500) == 0;
    if (!is_open || !next.has_passed()) continue;
    is_open = channel.keep_alive();
    next = Deadline::in(kKeepAlive);
  }
  if (!is_open) call->cancel();
  server_.end_listening(call);
}

void HttpEndpoint::end_session(http::Exchange& exchange, const Visitor& visitor) {
  const std::string id(exchange.headers().get("Mcp-Session-Id"));
  if (id.empty()) return refuse(exchange, 405, "there is no session to end");
  const auto session = find_session(id, visitor);
  if (!session) return refuse(exchange, 404, "there is no such session");
  {
    const std::lock_guard lock(mutex_);
    sessions_.erase(id);
  }
  session->cancel_all();
  server_.host().forget(session->client());
  (void)exchange.respond(204, {}, "");
}

bool HttpEndpoint::keep(const SessionPointer& session) {
  const Client client = session->client();
  const std::lock_guard lock(mutex_);
  if (!make_room(client.owner) || sessions_.size() >= options_.most_sessions) return false;
  sessions_.emplace(client.session, session);
  return true;
}

// The session of another owner is unknown.
HttpEndpoint::SessionPointer HttpEndpoint::find_session(const std::string& id,
                                                        const Visitor& visitor) {
  if (auto kept = find_kept(id, visitor)) return kept;
  return revive(id, visitor);
}

HttpEndpoint::SessionPointer HttpEndpoint::find_kept(const std::string& id,
                                                     const Visitor& visitor) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return nullptr;
  const Client client = found->second->client();
  if (client.owner != visitor.owner || client.name != visitor.name) return nullptr;
  found->second->touch();
  return found->second;
}

// Called without the lock, because the lookup may be slow. Two requests at once get the same
// session.
HttpEndpoint::SessionPointer HttpEndpoint::revive(const std::string& id, const Visitor& visitor) {
  // A named session is not restored by its id: its client begins again and finds it by the name.
  const bool is_one_of_ours = visitor.name.empty() && id.size() == kSessionDigits &&
                              id.find_first_not_of("0123456789abcdef") == id.npos;
  if (!options_.revive || !is_one_of_ours) return nullptr;
  const Client client = client_of(visitor, id);
  const auto revision = options_.revive(client);
  const auto& known = session_revisions();
  if (!revision || std::find(known.begin(), known.end(), *revision) == known.end()) return nullptr;
  const auto session = std::make_shared<Session>(client);
  session->agree(*revision, "{}");
  return keep(session) ? find_kept(id, visitor) : nullptr;
}

// Ends sessions that were unused for long. An owner with the most sessions loses the one it used
// least; false if all of them have running calls.
bool HttpEndpoint::make_room(const std::string& owner) {
  const auto now = Clock::now();
  std::size_t own = 0;
  auto least = sessions_.end();
  for (auto entry = sessions_.begin(); entry != sessions_.end();) {
    const Session& session = *entry->second;
    const bool is_idle = session.running() == 0;
    if (is_idle && now - session.used() > options_.session_time) {
      entry = sessions_.erase(entry);
      continue;
    }
    if (session.client().owner == owner) {
      ++own;
      const bool is_least = least == sessions_.end() || session.used() < least->second->used();
      if (is_idle && is_least) least = entry;
    }
    ++entry;
  }
  if (own < options_.most_sessions_of_one) return true;
  if (least == sessions_.end()) return false;
  sessions_.erase(least);
  return true;
}

}  // namespace nutshell::mcp
