// Answers with a problem document (RFC 9457).
#pragma once

#include "base/result.h"
#include "http/exchange.h"

namespace nutshell::server {

Result<> reply_problem(http::Exchange& exchange, const Error& error);
// With a status that no code stands for: 405, 408, 416, 426.
Result<> reply_problem(http::Exchange& exchange, int status, const Error& error,
                       const http::Headers& more = {});

}  // namespace nutshell::server
