// The relay's end of its stream to an init: frames, and the descriptors that come with them. All
// that comes in is hostile. Not thread-safe.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/frame.h"

namespace nutshell::egress {

class InitStream {
 public:
  // Whether the other end, which is init's own, may pass descriptors.
  enum class Descriptors { Pass, Stay };
  // The greeting leaves with the first message, and behind it the order that commands get a
  // network.
  InitStream(UniqueFd stream, Descriptors descriptors);

  [[nodiscard]] int descriptor() const { return stream_.get(); }
  [[nodiscard]] bool takes_descriptors() const { return descriptors_pass_ == Descriptors::Pass; }

  template <typename Message>
  void queue(Message message) {
    wire::append_frame(outgoing_, kConversation, std::move(message));
  }
  [[nodiscard]] std::size_t queued() const { return outgoing_.size() - sent_; }
  // Sends what the socket takes now.
  Result<> send_some();
  // Reads once what is there. Returns false if the other side has closed.
  Result<bool> receive_some();
  // A frame of our conversation; nullopt if none is complete.
  Result<std::optional<wire::Frame>> next_frame();
  // The oldest descriptor that was not taken yet.
  UniqueFd take_descriptor();

 private:
  static constexpr std::uint32_t kConversation = 1;
  static constexpr std::uint32_t kOrder = 2;          // the conversation of UseNetwork
  static constexpr std::size_t kMostDescriptors = 4;  // that wait

  UniqueFd stream_;
  Descriptors descriptors_pass_;
  wire::FrameReader reader_{wire::kMostReplyPayload};
  std::string outgoing_;
  std::size_t sent_ = 0;
  std::deque<UniqueFd> descriptors_;
  bool has_greeting_ = false;
};

}  // namespace nutshell::egress
