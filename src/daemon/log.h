// The daemon's log: one JSON object per line on standard error. Thread-safe.
#pragma once

#include <string_view>

#include "server/http/api.h"

namespace nutshell::daemon {

enum class Level { Info, Warning, Error };

void log_line(Level level, std::string_view message);
void log_request(const server::Answered& answered);

}  // namespace nutshell::daemon
