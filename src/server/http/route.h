// A route: what it is called, what it takes and gives, and who answers. The table of them is the
// API; the OpenAPI document is made from it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/exchange.h"
#include "server/http/shape.h"
#include "service/service.h"

namespace nutshell::server {

// One request on its way through a route, whatever way it came in.
struct Call {
  http::Exchange* exchange;  // none: not over HTTP; a route that streams has another form there
  service::Service& service;
  service::Caller caller;
  std::vector<std::string> captured;  // what stands at the {…} of the path, in order
  const Json& body;                   // checked against the route's shape; null where it has none
  const http::Target& target;         // for its query
  std::string idempotency_key;
  std::function<Result<>(int status, const Json& body)> answer;  // a body of null: none
  // Nobody waits for the answer any more.
  std::function<bool()> client_is_gone = [] { return false; };
  std::function<int()> gone_descriptor = [] { return -1; };  // readable then

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

// Of a JSON body that carries what a command reads or a file holds.
inline constexpr std::size_t kMostContentBytes = 16U << 20U;

struct Route {
  // Who may call it.
  enum class Access : std::uint8_t { Callers, Anyone };
  enum class Body : std::uint8_t { None, Object, Bytes };

  std::string method;
  std::string path;  // "/v1/sandboxes/{id}/exec"
  std::string name;  // operationId
  std::string summary;
  std::function<Result<>(Call&)> handle;
  std::vector<Parameter> query = {};
  std::function<const Shape&()> takes = nullptr;  // of a Body::Object
  std::function<const Shape&()> gives = nullptr;
  int success = 200;
  // Other statuses that are no problem, and what they give.
  std::vector<std::pair<int, std::function<const Shape&()>>> others = {};
  std::string media_type = "application/json";  // of the answer
  Body body = Body::None;
  std::size_t most_body_bytes = 1U << 20U;  // of a Body::Object
  Access access = Access::Callers;
  bool takes_idempotency_key = false;
  bool is_other_protocol = false;  // which has a contract of its own, and is in no document of ours
  std::string challenge = "Bearer";  // how to come in, told to whoever may not
};

std::vector<Route> health_routes();
std::vector<Route> sandbox_routes();
std::vector<Route> workspace_routes();
std::vector<Route> exec_routes();
std::vector<Route> terminal_routes();
std::vector<Route> file_routes();
std::vector<Route> tool_routes();
std::vector<Route> session_routes();
std::vector<Route> pool_routes();
std::vector<Route> batch_routes();
std::vector<Route> evidence_routes();
std::vector<Route> backend_routes();

// All of them.
std::vector<Route> api_routes();

// Refuses parameters that the route does not have, and the lack of those it needs.
Result<> check_query(const Route& route, const http::Target& target);
// Turns Unavailable into Conflict if the sandbox does not answer because it is paused.
Error explained(const Call& call, const Route& route, Error error);
// What somebody may not do is written down, where it is not done.
void note_denial(Call& call, const Error& error);

// A query parameter as a number; InvalidArgument where it is none.
Result<std::uint64_t> number_parameter(const Call& call, std::string_view name,
                                       std::uint64_t otherwise);
std::string text_parameter(const Call& call, std::string_view name);
Result<std::string> path_parameter(const Call& call);

// Of what comes in pages.
std::vector<Parameter> list_parameters();
Result<service::ListRequest> list_request_of(const Call& call);
Json cursor_json(const std::string& cursor);

}  // namespace nutshell::server
