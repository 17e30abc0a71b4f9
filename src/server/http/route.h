// A route of the API: its path, the shapes of request and answer, and its handler. The OpenAPI
// document is made from the table of routes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/exchange.h"
#include "server/http/shape.h"
#include "service/service.h"

namespace nutshell::server {

// One request to a route, over HTTP or gRPC.
struct Call {
  http::Exchange* exchange;  // nullptr over gRPC
  service::Service& service;
  service::Caller caller;
  std::vector<std::string> captured;  // the values of the {…} of the path, in order
  const Json& body;                   // checked against the route's shape; null where it has none
  const http::Target& target;         // for its query
  std::string idempotency_key;
  std::function<Result<>(int status, const Json& body)> answer;  // null: without a body
  // Whether the client has hung up.
  std::function<bool()> client_is_gone = [] { return false; };
  std::function<int()> gone_descriptor = [] { return -1; };  // readable when it has

  [[nodiscard]] const std::string& id() const { return captured.front(); }
};

Result<> reply(Call& call, int status, const Json& body);
Result<> reply_nothing(Call& call);
// Answers 201 with a sandbox that this call made. If the client is gone and gave no
// Idempotency-Key, nobody will ever learn the id, so the sandbox is destroyed.
Result<> reply_new_sandbox(Call& call, const service::SandboxView& view);

struct Parameter {
  std::string name;
  Field::Type type = Field::Type::Text;
  std::string help = {};
  Field::Presence presence = Field::Presence::Optional;
  std::int64_t least = Field::kNoBound;
  std::int64_t most = Field::kNoBound;
};

// Limit for a JSON body with the input of a command or the content of a file.
inline constexpr std::size_t kMostContentBytes = 16U << 20U;

struct Route {
  // Which clients may call the route.
  enum class Access : std::uint8_t { Callers, Anyone };
  enum class Body : std::uint8_t { None, Object, Bytes };

  std::string method;
  std::string path;  // "/v1/sandboxes/{id}/exec"
  std::string name;  // operationId
  std::string summary;
  std::function<Result<>(Call&)> handle;
  std::vector<Parameter> query = {};
  std::function<const Shape&()> takes = nullptr;  // with Body::Object
  std::function<const Shape&()> gives = nullptr;
  int success = 200;
  // Other successful statuses and their shapes.
  std::vector<std::pair<int, std::function<const Shape&()>>> others = {};
  std::string media_type = "application/json";  // of the answer
  Body body = Body::None;
  std::size_t most_body_bytes = 1U << 20U;  // with Body::Object
  Access access = Access::Callers;
  bool takes_idempotency_key = false;
  bool is_other_protocol = false;    // left out of the OpenAPI document
  std::string challenge = "Bearer";  // WWW-Authenticate of a refusal
};

std::vector<Route> health_routes();
std::vector<Route> sandbox_routes();
std::vector<Route> workspace_routes();
std::vector<Route> exec_routes();
std::vector<Route> terminal_routes();
std::vector<Route> file_routes();
std::vector<Route> tool_routes();
std::vector<Route> network_routes();
std::vector<Route> session_routes();
std::vector<Route> pool_routes();
std::vector<Route> batch_routes();
std::vector<Route> evidence_routes();
std::vector<Route> backend_routes();

// The routes of all files.
std::vector<Route> api_routes();

// Refuses unknown parameters and missing required ones.
Result<> check_query(const Route& route, const http::Target& target);
// Turns Unavailable into Conflict if the sandbox does not answer because it is paused.
Error explained(const Call& call, const Route& route, Error error);
// Records an operation that was refused to the caller.
void note_denial(Call& call, const Error& error);

// A query parameter as a number; InvalidArgument if it is not one.
Result<std::uint64_t> number_parameter(const Call& call, std::string_view name,
                                       std::uint64_t otherwise);
std::string text_parameter(const Call& call, std::string_view name);
Result<std::string> path_parameter(const Call& call);

// Parameters of lists that come in pages.
std::vector<Parameter> list_parameters();
Result<service::ListRequest> list_request_of(const Call& call);
Json cursor_json(const std::string& cursor);

}  // namespace nutshell::server
