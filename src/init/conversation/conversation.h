// What goes on between a request and its last reply, on one connection.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "wire/frame.h"

namespace nutshell::init {

class Conversation {
 public:
  virtual ~Conversation() = default;

  // A message that came for it. An error is a breach of the protocol and ends the connection.
  virtual Result<> receive(const wire::Frame& frame) = 0;

  // The next whole frame to send, if one is ready; the same one until sent() is called.
  virtual std::optional<std::string_view> ready() = 0;
  virtual void sent() = 0;

  // Its last frame has been sent.
  [[nodiscard]] virtual bool is_over() const = 0;

  // It holds a file of /workspace open that it is still writing.
  [[nodiscard]] virtual bool is_writing() const { return false; }

  // The connection is gone.
  virtual void disconnected() {}

  // For one that waits for something else than the host: what to poll for reading, or -1, and until
  // when. progress() is called after every poll, whatever it was that happened.
  [[nodiscard]] virtual int descriptor() const { return -1; }
  [[nodiscard]] virtual Deadline deadline() const { return Deadline::never(); }
  virtual void progress() {}
};

}  // namespace nutshell::init
