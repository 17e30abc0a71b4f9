// Takes the messages that belong to one request.
#pragma once

#include <string_view>

namespace nutshell::mcp {

// Thread-safe. Messages to a client that is gone are dropped.
class Channel {
 public:
  virtual ~Channel() = default;
  // Sends a notification, or a request of ours, before the answer.
  virtual void send(std::string_view message) = 0;
  // Sends the answer; `error_code` is 0 for a result.
  virtual void respond(std::string_view message, int error_code) = 0;
  // Called when there will be no answer, because the client cancelled its request.
  virtual void abandon() {}
};

}  // namespace nutshell::mcp
