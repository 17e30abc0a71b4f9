#include "server/http/problem.h"

#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "server/http/json.h"

namespace nutshell::server {

Result<> reply_problem(http::Exchange& exchange, int status, const Error& error,
                       const http::Headers& more) {
  const Json body = {{"type", "about:blank"},
                     {"title", http::reason_of(status)},
                     {"status", status},
                     {"code", to_string(error.code)},
                     {"detail", error.message}};
  http::Headers headers = more;
  headers.add("Content-Type", "application/problem+json");
  return exchange.respond(status, headers, dump_json(body));
}

Result<> reply_problem(http::Exchange& exchange, const Error& error) {
  return reply_problem(exchange, forms_of(error.code).http_status, error);
}

}  // namespace nutshell::server
