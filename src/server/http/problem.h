// Problem documents (RFC 9457): the one table from our codes to HTTP's.
#pragma once

#include "base/result.h"
#include "http/exchange.h"

namespace nutshell::server {

int status_of(ErrorCode code);
Result<> reply_problem(http::Exchange& exchange, const Error& error);
// With a status of its own, where HTTP has a word that our codes do not.
Result<> reply_problem(http::Exchange& exchange, int status, const Error& error,
                       const http::Headers& more = {});

}  // namespace nutshell::server
