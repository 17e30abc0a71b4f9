#include "server/http/problem.h"

#include <nlohmann/json.hpp>

#include "server/http/json.h"

namespace nutshell::server {

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return 400;
    case ErrorCode::NotFound:
      return 404;
    case ErrorCode::AlreadyExists:
      return 409;
    case ErrorCode::PermissionDenied:
      return 403;
    case ErrorCode::Unsupported:
      return 422;
    case ErrorCode::ResourceExhausted:
      return 429;
    case ErrorCode::DeadlineExceeded:
      return 504;
    case ErrorCode::Cancelled:
      return 409;
    case ErrorCode::Unavailable:
      return 503;
    case ErrorCode::Corrupt:
      return 502;
    case ErrorCode::Internal:
      return 500;
  }
  return 500;
}

Result<> reply_problem(http::Exchange& exchange, int status, const Error& error,
                       const http::Headers& more) {
  const Json body = {{"type", "about:blank"},
                     {"title", http::reason_of(status)},
                     {"status", status},
                     {"code", to_string(error.code)},
                     {"detail", error.message}};
  http::Headers headers = more;
  headers.add("Content-Type", "application/problem+json");
  return exchange.respond(status, headers, print_json(body));
}

Result<> reply_problem(http::Exchange& exchange, const Error& error) {
  return reply_problem(exchange, status_of(error.code), error);
}

}  // namespace nutshell::server
