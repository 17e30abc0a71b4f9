// A connection of the host to a server inside the sandbox. Begins with FlowOpened; after one with
// an error nothing follows. Otherwise Done follows the end of the flow.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "init/conversation/conversation.h"
#include "init/network/carrier.h"
#include "init/network/target.h"
#include "wire/network_schema.h"

namespace nutshell::init {

Result<std::unique_ptr<Conversation>> open_dial_conversation(const wire::Frame& frame);

class DialConversation : public Conversation {
 public:
  static Result<std::unique_ptr<Conversation>> open(std::uint32_t number, std::uint16_t port);

  Result<> receive(const wire::Frame& frame) override;
  std::optional<std::string_view> ready() override;
  void sent() override;
  [[nodiscard]] bool is_over() const override { return is_over_; }
  [[nodiscard]] int descriptor() const override { return events_.get(); }
  [[nodiscard]] Deadline deadline() const override { return deadline_; }
  void progress() override;

 private:
  explicit DialConversation(std::uint32_t number) : number_(number) {}
  void connect(const SocketAddress& address);
  void connected(int error);
  void watch(int socket);
  void finish();

  template <typename Message>
  void send(Message message) {
    wire::append_frame(messages_.emplace_back(), number_, std::move(message));
  }

  std::uint32_t number_;
  std::uint16_t port_ = 0;
  UniqueFd events_;
  UniqueFd connecting_;  // until it is connected
  bool has_tried_six_ = false;
  Deadline deadline_ = Deadline::never();
  std::optional<Carrier> carrier_;
  std::deque<std::string> messages_;
  std::string frame_;
  bool is_last_ = false;  // nothing follows the messages
  bool is_over_ = false;
};

}  // namespace nutshell::init
