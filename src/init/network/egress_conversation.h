// The conversation in which init asks the host for names and connections, and carries bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/unique_fd.h"
#include "init/conversation/conversation.h"

namespace nutshell::init {

class Network;

class EgressConversation : public Conversation {
 public:
  EgressConversation(std::uint32_t number, Network& network)
      : number_(number), network_(&network) {}
  ~EgressConversation() override;

  Result<> receive(const wire::Frame& frame) override;
  std::optional<std::string_view> ready() override;
  void sent() override;
  [[nodiscard]] bool is_over() const override { return is_over_; }
  [[nodiscard]] UniqueFd descriptor_to_send() override { return std::move(door_); }

  // Messages leave in their order, before any bytes of flows.
  template <typename Message>
  void send(Message message) {
    wire::append_frame(messages_.emplace_back(), number_, std::move(message));
  }
  // Sent with the next frame.
  void send_descriptor(UniqueFd door) { door_ = std::move(door); }
  [[nodiscard]] std::uint32_t number() const { return number_; }

  // Called when another conversation takes its place: this one ends.
  void detach();

 private:
  std::uint32_t number_;
  Network* network_;  // null once detached
  std::deque<std::string> messages_;
  std::string frame_;
  UniqueFd door_;
  bool is_over_ = false;
};

}  // namespace nutshell::init
