// Where the messages of one request go.
#pragma once

#include <string_view>

namespace nutshell::mcp {

// Thread-safe. What cannot be written any more is dropped: the client is gone.
class Channel {
 public:
  virtual ~Channel() = default;
  // On the way: notifications, and requests of ours.
  virtual void send(std::string_view message) = 0;
  // The one answer; `error_code` is 0 for a result.
  virtual void respond(std::string_view message, int error_code) = 0;
  // There will be no answer: the client took its request back.
  virtual void abandon() {}
};

}  // namespace nutshell::mcp
