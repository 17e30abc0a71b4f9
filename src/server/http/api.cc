#include "server/http/api.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "server/http/metrics_text.h"
#include "server/http/port_gateway.h"
#include "server/http/problem.h"
#include "server/http/views.h"
#include "service/evidence/operations.h"
#include "service/health.h"
#include "service/pools/pools.h"

namespace nutshell::server {
namespace {

// A body that the route does not take is read and dropped up to this size, to keep the connection.
constexpr std::size_t kMostUnwantedBytes = 64U << 10U;

std::vector<std::string> cut(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    parts.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

// The last part of a pattern below which all paths and queries belong to the route.
constexpr std::string_view kAllBelow = "...";

bool fits(const std::vector<std::string>& pattern, const std::vector<std::string>& segments,
          std::vector<std::string>& captured) {
  const bool takes_all_below = pattern.back() == kAllBelow;
  const std::size_t parts = pattern.size() - (takes_all_below ? 1 : 0);
  if (takes_all_below ? segments.size() < parts : segments.size() != parts) return false;
  captured.clear();
  for (std::size_t i = 0; i < parts; ++i) {
    if (pattern[i].starts_with('{')) {
      if (segments[i].empty()) return false;
      captured.push_back(segments[i]);
    } else if (pattern[i] != segments[i]) {
      return false;
    }
  }
  return true;
}

Result<Json> read_json(http::Exchange& exchange, const Route& route) {
  const std::string text = TRY(exchange.read_body(route.most_body_bytes));
  Json body = text.empty() ? Json::object() : TRY(parse_json(text));
  if (!body.is_object()) return failure(ErrorCode::InvalidArgument, "the body must be an object");
  if (route.takes) TRY(check_shape(body, route.takes()));
  return body;
}

// HTTP has a status of its own for a body that does not come.
Result<> reply_unread(http::Exchange& exchange, const Error& error) {
  if (error.code == ErrorCode::DeadlineExceeded) return reply_problem(exchange, 408, error);
  return reply_problem(exchange, error);
}

// Answers over HTTP.
Result<> send_json(http::Exchange& exchange, int status, const Json& body) {
  if (body.is_null()) return exchange.respond(status, {}, "");
  return exchange.respond(status, {{"Content-Type", "application/json"}}, dump_json(body));
}

}  // namespace

Result<> check_query(const Route& route, const http::Target& target) {
  if (route.path.ends_with(kAllBelow)) return {};
  for (const auto& [name, value] : target.query) {
    const auto is_named = [&, &key = name](const Parameter& one) { return one.name == key; };
    const auto found = std::find_if(route.query.begin(), route.query.end(), is_named);
    if (found == route.query.end()) {
      return failure(ErrorCode::InvalidArgument, fmt::format("unknown parameter '{}'", name));
    }
  }
  for (const Parameter& parameter : route.query) {
    const bool is_missing = parameter.presence == Field::Presence::Required &&
                            target.parameter(parameter.name) == nullptr;
    if (is_missing) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("the parameter '{}' is missing", parameter.name));
    }
  }
  return {};
}

Error explained(const Call& call, const Route& route, Error error) {
  if (error.code != ErrorCode::Unavailable || !route.path.starts_with("/v1/sandboxes/{id}")) {
    return error;
  }
  const auto view = call.service.find(call.caller, call.id());
  if (view && view->state == SandboxState::Paused) error.code = ErrorCode::Conflict;
  return error;
}

Result<> reply(Call& call, int status, const Json& body) {
  return call.answer(status, body);
}

Result<> reply_nothing(Call& call) {
  return call.answer(204, nullptr);
}

Result<> reply_new_sandbox(Call& call, const service::SandboxView& view) {
  const bool is_wanted = !call.idempotency_key.empty() || !call.client_is_gone();
  auto told = is_wanted ? reply(call, 201, to_json(view))
                        : Result<>(failure(ErrorCode::Cancelled,
                                           "the client hung up while the sandbox was made, so it "
                                           "was destroyed: stay connected, or send an "
                                           "Idempotency-Key and ask again"));
  if (told || !call.idempotency_key.empty()) return told;
  // A sandbox that cannot be destroyed now ends at its ttl.
  if (view.pool.empty()) {
    (void)call.service.destroy(call.caller, view.id);
  } else {
    (void)call.service.pools().release(call.caller, view.id);
  }
  return told;
}

Result<std::uint64_t> number_parameter(const Call& call, std::string_view name,
                                       std::uint64_t otherwise) {
  const std::string* text = call.target.parameter(name);
  if (text == nullptr) return otherwise;
  std::uint64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [place, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || place != end || text->empty()) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("the parameter '{}' must be a whole number", name));
  }
  return number;
}

std::string text_parameter(const Call& call, std::string_view name) {
  const std::string* text = call.target.parameter(name);
  return text == nullptr ? std::string() : *text;
}

Result<std::string> path_parameter(const Call& call) {
  std::string path = text_parameter(call, "path");
  if (path.empty()) return failure(ErrorCode::InvalidArgument, "the parameter 'path' is empty");
  return path;
}

void note_denial(Call& call, const Error& error) {
  if (error.code == ErrorCode::PermissionDenied)
    call.service.operations().deny(call.caller, error.message);
}

std::vector<Route> api_routes() {
  std::vector<Route> all;
  for (auto* part : {health_routes, sandbox_routes, workspace_routes, exec_routes, terminal_routes,
                     file_routes, tool_routes, network_routes, session_routes, port_routes,
                     pool_routes, batch_routes, evidence_routes, backend_routes}) {
    std::vector<Route> some = part();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

Api::Api(Options options) : options_(std::move(options)), routes_(api_routes()) {
  std::move(options_.more.begin(), options_.more.end(), std::back_inserter(routes_));
  const auto document = std::make_shared<const std::string>(openapi_of(routes_));
  for (Route& route : routes_) {
    patterns_.push_back(cut(route.path));
    if (route.name == "metrics") {
      route.handle = [more = options_.more_metrics](Call& call) {
        return call.exchange->respond(
            200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
            metrics_text(call.service.health().metrics(call.caller)) + metrics_text(more()));
      };
    }
    // The document describes the table that it is served from.
    if (route.name == "openapi") {
      route.handle = [document](Call& call) {
        return call.exchange->respond(200, {{"Content-Type", "application/json"}}, *document);
      };
    }
  }
}

Api::Found Api::find(const http::Exchange& exchange) const {
  Found found;
  std::vector<std::string> captured;
  // A HEAD is a GET whose body stays here.
  std::string_view method = exchange.method();
  if (method == "HEAD") method = "GET";
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    if (!fits(patterns_[i], exchange.target().segments, captured)) continue;
    if (routes_[i].method == method) {
      found.route = &routes_[i];
      found.captured = captured;
      return found;
    }
    found.allowed += (found.allowed.empty() ? "" : ", ") + routes_[i].method;
  }
  return found;
}

Result<> Api::serve_body(http::Exchange& exchange, Found& found, const service::Caller& caller) {
  const Route& route = *found.route;
  if (auto query = check_query(route, exchange.target()); !query) {
    return reply_problem(exchange, query.error());
  }
  Json body;
  if (route.body == Route::Body::Object) {
    auto read = read_json(exchange, route);
    if (!read) return reply_unread(exchange, read.error());
    body = std::move(*read);
  } else if (route.body == Route::Body::None && route.access != Route::Access::Anyone) {
    // The body of an anonymous caller is not read: the connection ends after the answer.
    if (auto dropped = exchange.discard_body(kMostUnwantedBytes); !dropped) {
      return reply_unread(exchange, dropped.error());
    }
  }
  Call call{&exchange,
            options_.service,
            caller,
            std::move(found.captured),
            body,
            exchange.target(),
            std::string(exchange.headers().get("Idempotency-Key")),
            [&](int status, const Json& said) { return send_json(exchange, status, said); },
            [&exchange] { return exchange.client_is_gone(); },
            [&exchange] { return exchange.hang_up_descriptor(); }};
  auto done = route.handle(call);
  if (!done) note_denial(call, done.error());
  if (done || exchange.is_answered()) return done;
  return reply_problem(exchange, explained(call, route, done.error()));
}

Result<> Api::serve(http::Exchange& exchange, Found& found, service::Caller& caller) {
  if (found.route != nullptr && found.route->access == Route::Access::Anyone) {
    return serve_body(exchange, found, caller);
  }
  auto admitted = options_.gate.admit(exchange);
  if (!admitted) {
    const Error& refusal = admitted.error();
    const bool is_barred = refusal.code == ErrorCode::ResourceExhausted;
    http::Headers more;
    if (refusal.code == ErrorCode::Unauthenticated)
      more.add("WWW-Authenticate", found.route == nullptr ? "Bearer" : found.route->challenge);
    if (is_barred) more.add("Retry-After", "60");
    const std::string address = exchange.remote().address;
    if (!is_barred) {  // a barred address would fill the record
      options_.service.operations().deny({"", address.empty() ? "socket" : address},
                                         refusal.message);
    }
    return reply_problem(exchange, forms_of(refusal.code).http_status, refusal, more);
  }
  caller = std::move(*admitted);
  if (found.route != nullptr) return serve_body(exchange, found, caller);
  if (found.allowed.empty()) {
    return reply_problem(exchange, {ErrorCode::NotFound, "no route has this path"});
  }
  return reply_problem(exchange, 405,
                       {ErrorCode::InvalidArgument, "this path does not take this method"},
                       {{"Allow", found.allowed}});
}

void Api::answer(http::Exchange& exchange) {
  const auto begin = Clock::now();
  Found found = find(exchange);
  const std::string_view path = found.route == nullptr ? "-" : std::string_view(found.route->path);
  service::Caller caller;
  const bool is_worth_a_span =
      found.route != nullptr && found.route->access != Route::Access::Anyone;
  telemetry::Activity activity(is_worth_a_span ? options_.spans : nullptr,
                               exchange.headers().get("traceparent"),
                               fmt::format("{} {}", exchange.method(), path));
  // A client that is gone cannot be told anything; the log has the status.
  (void)serve(exchange, found, caller);
  activity.add("http.route", std::string(path));
  activity.add("http.response.status_code", std::int64_t{exchange.status()});
  activity.add("nutshell.tenant", caller.tenant);
  if (exchange.status() >= 500) activity.fail();
  options_.log({exchange.method(), path, exchange.status(), caller.who, caller.tenant,
                std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin)});
}

}  // namespace nutshell::server
