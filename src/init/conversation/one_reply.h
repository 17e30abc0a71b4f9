// A conversation that ends with its first reply.
#pragma once

#include <string>

#include "init/conversation/conversation.h"

namespace nutshell::init {

class OneReply : public Conversation {
 public:
  template <typename Message>
  OneReply(std::uint32_t number, Message message) {
    wire::append_frame(frame_, number, std::move(message));
  }
  Result<> receive(const wire::Frame& /*frame*/) override { return {}; }
  std::optional<std::string_view> ready() override { return frame_; }
  void sent() override { is_over_ = true; }
  [[nodiscard]] bool is_over() const override { return is_over_; }

 private:
  std::string frame_;
  bool is_over_ = false;
};

}  // namespace nutshell::init
