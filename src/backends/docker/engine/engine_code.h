// Turns an engine's refusal into one of our codes.
#pragma once

#include <string_view>

#include "base/error_code.h"

namespace nutshell::docker {

// `call` is the path that was asked for, `words` the engine's message. An engine passes the
// failures of registries and runtimes on with status 500, or within a stream (`status` 0): for
// these only the words tell what went wrong.
ErrorCode engine_code(int status, std::string_view call, std::string_view words);

}  // namespace nutshell::docker
