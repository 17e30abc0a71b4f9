// One byte stream to the host: receives and sends frames. Its conversations take turns, so that
// none starves another.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "init/conversation/conversation.h"
#include "wire/frame.h"

namespace nutshell::init {

class Connection {
 public:
  // Called for the first message of a new conversation.
  using Opener = std::function<Result<std::unique_ptr<Conversation>>(const wire::Frame&)>;

  explicit Connection(UniqueFd stream);
  ~Connection();
  Connection(Connection&&) = delete;
  Connection& operator=(Connection&&) = delete;

  [[nodiscard]] int descriptor() const { return stream_.get(); }
  [[nodiscard]] short wanted_events() const;
  [[nodiscard]] bool is_open() const { return stream_.is_open(); }
  [[nodiscard]] bool is_idle() const { return conversations_.empty(); }
  [[nodiscard]] bool is_writing() const;  // whether one of its conversations writes a file
  // Expires when the stream is closed: the client is gone.
  [[nodiscard]] std::weak_ptr<const void> life() const { return life_; }

  // Adds the descriptors that its conversations wait for besides the host.
  [[nodiscard]] std::vector<int> awaited_descriptors() const;
  [[nodiscard]] Deadline next_deadline() const;
  void progress();

  void read_available(const Opener& open);
  void write_available();

 private:
  Result<> dispatch(const wire::Frame& frame, const Opener& open);
  Result<> greet(const wire::Frame& frame);
  void fail_conversation(std::uint32_t conversation, const Error& error);
  [[nodiscard]] bool holds_greeting();
  bool send_pending();
  ssize_t send_once();
  bool take_next_frame();
  void close();

  UniqueFd stream_;
  std::shared_ptr<const int> life_ = std::make_shared<const int>(0);  // shared to be seen expiring
  wire::FrameReader reader_{wire::kMostRequestPayload};
  std::string pending_;       // whole frames, or the rest of one
  UniqueFd descriptor_;       // leaves with them
  bool is_blocked_ = false;   // the socket is full
  bool has_greeted_ = false;  // the host's Hello has come
  bool has_sent_ = false;
  std::size_t greeting_bytes_ = 0;
  std::optional<Deadline> greeting_due_;  // set while our Hello waits for the first answer
  std::map<std::uint32_t, std::unique_ptr<Conversation>> conversations_;
  std::uint32_t last_served_ = 0;
};

}  // namespace nutshell::init
