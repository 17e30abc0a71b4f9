#include "init/network/egress_conversation.h"

#include "init/network/network.h"

namespace nutshell::init {

EgressConversation::~EgressConversation() {
  if (network_ != nullptr) network_->lose_host();
}

void EgressConversation::detach() {
  network_ = nullptr;
  messages_.clear();
  send(wire::Failed{ErrorCode::Cancelled, "another relay took over this sandbox's network"});
}

Result<> EgressConversation::receive(const wire::Frame& frame) {
  return network_ == nullptr ? Result<>() : network_->take(frame);
}

std::optional<std::string_view> EgressConversation::ready() {
  if (!frame_.empty()) return frame_;
  if (!messages_.empty()) {
    frame_ = std::move(messages_.front());
    messages_.pop_front();
    return frame_;
  }
  if (network_ == nullptr || !network_->next_bytes(frame_)) return std::nullopt;
  return frame_;
}

void EgressConversation::sent() {
  frame_.clear();
  is_over_ = network_ == nullptr && messages_.empty();
}

}  // namespace nutshell::init
