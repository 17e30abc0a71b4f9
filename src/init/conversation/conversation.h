// A request and all messages up to its last reply, on one connection.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/frame.h"

namespace nutshell::init {

class Conversation {
 public:
  virtual ~Conversation() = default;

  // Takes a message. An error means that the host broke the protocol, and ends the connection.
  virtual Result<> receive(const wire::Frame& frame) = 0;

  // The next whole frame to send, if one is ready; the same one until sent() is called.
  virtual std::optional<std::string_view> ready() = 0;
  virtual void sent() = 0;

  // Asked for after sent(): a descriptor that the host gets with the frame; not open for none.
  [[nodiscard]] virtual UniqueFd descriptor_to_send() { return UniqueFd(); }

  // Whether its last frame has been sent.
  [[nodiscard]] virtual bool is_over() const = 0;

  // Whether it is writing a file of /workspace that it holds open.
  [[nodiscard]] virtual bool is_writing() const { return false; }

  // Called when the connection is gone.
  virtual void disconnected() {}

  // For a conversation that waits for something else than the host: the descriptor to poll for
  // reading, or -1, and the deadline. progress() is called after every poll.
  [[nodiscard]] virtual int descriptor() const { return -1; }
  [[nodiscard]] virtual Deadline deadline() const { return Deadline::never(); }
  virtual void progress() {}
};

}  // namespace nutshell::init
