// The protocol over standard input and output: one message on each line. Nothing else is written to
// the output.
#pragma once

#include <functional>

#include "base/result.h"
#include "server/mcp/server.h"

namespace nutshell::mcp {

struct StdioEnds {
  int input = 0;
  int output = 1;
  int interrupt = -1;                 // ends the server when it becomes readable
  std::function<void()> on_end = {};  // called when the client has closed its end; may be empty
};

// Serves until the client closes its end. Then calls that run may end within a moment, if the
// client still reads, and the others are cancelled.
Result<> serve_stdio(Server& server, const StdioEnds& ends);

}  // namespace nutshell::mcp
