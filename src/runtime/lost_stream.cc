#include "runtime/lost_stream.h"

#include <poll.h>

namespace nutshell {

bool has_hung_up(wire::InitClient& client) {
  pollfd state{client.channel().descriptor(), POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0;
}

Error explained(Error error, const Gone& gone) {
  if (!gone.text.empty()) error.message += ": " + gone.text;
  return error;
}

ExecResult explained(ExecResult result, const Gone& gone) {
  if (gone.reason == Gone::Reason::Unknown) return result;  // init may have said more
  if (gone.reason == Gone::Reason::OutOfMemory) result.outcome = Outcome::OutOfMemory;
  if (!gone.text.empty()) result.detail = gone.text;
  return result;
}

}  // namespace nutshell
