// The protocol over standard input and output: one message in a line. Nothing else is ever written
// to the output.
#pragma once

#include "base/result.h"
#include "server/mcp/server.h"

namespace nutshell::mcp {

struct StdioEnds {
  int input = 0;
  int output = 1;
  int interrupt = -1;  // readable: end now
};

// Until the client closes its end. What still runs then is cancelled, after a moment in which short
// calls may end if the client still reads.
Result<> serve_stdio(Server& server, const StdioEnds& ends);

}  // namespace nutshell::mcp
