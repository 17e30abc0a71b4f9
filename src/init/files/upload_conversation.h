// A conversation that receives the bytes of a file: acknowledges them as they come, and answers
// once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "init/conversation/conversation.h"

namespace nutshell::init {

class UploadConversation : public Conversation {
 public:
  explicit UploadConversation(std::uint32_t number) : number_(number) {}

  Result<> receive(const wire::Frame& frame) final {
    if (is_answered_) return {};  // bytes that were in flight when the disk filled up
    if (frame.type == wire::MessageType::FileEnd) {
      finish();
      return {};
    }
    const auto data = TRY(wire::decode<wire::FileData>(frame.payload));
    received_ += data.bytes.size();
    write(data.bytes);
    return {};
  }
  std::optional<std::string_view> ready() final {
    if (frame_.empty() && received_ > announced_) {
      announced_ = received_;
      wire::append_frame(frame_, number_, wire::InputConsumed{announced_});
    }
    return frame_.empty() ? std::nullopt : std::optional<std::string_view>(frame_);
  }
  void sent() final {
    frame_.clear();
    is_over_ = is_answered_;
  }
  [[nodiscard]] bool is_over() const final { return is_over_; }
  [[nodiscard]] bool is_writing() const final { return !is_answered_; }

 protected:
  // Writes the next bytes; answers if that fails.
  virtual void write(std::string_view bytes) = 0;
  // Answers, all bytes being there.
  virtual void finish() = 0;

  template <typename Message>
  void answer_with(Message message) {
    is_answered_ = true;
    wire::append_frame(frame_, number_, std::move(message));
  }
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  std::uint32_t number_;
  std::uint64_t received_ = 0;
  std::uint64_t announced_ = 0;
  std::string frame_;
  bool is_answered_ = false;
  bool is_over_ = false;
};

}  // namespace nutshell::init
