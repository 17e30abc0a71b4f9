// A client's connection: the bytes that arrived and the request they make up. Used by one thread at
// a time: the poller between requests, and the worker that serves one.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "base/deadline.h"
#include "http/admission.h"
#include "http/connection_places.h"
#include "http/exchange.h"
#include "http/message.h"
#include "http/parser.h"
#include "http/transport.h"

namespace nutshell::http {

struct ServerLimits;

// Told when a worker begins to wait for a client that sends its body slowly, and when it ends.
class BodyWait {
 public:
  virtual ~BodyWait() = default;
  virtual void begin(const std::string& holder) = 0;
  virtual void end(const std::string& holder) = 0;
};

class Connection {
 public:
  Connection(std::unique_ptr<Transport> transport, Remote remote, const ServerLimits& limits,
             ConnectionPlaces& places);

  enum class RequestState {
    WantsRead,
    WantsWrite,
    Request,  // the head is complete, and the body too if it is short
    Refused,  // refusal() says why; later bytes cannot be parsed
    Gone,
  };
  // Reads the bytes that have arrived, without waiting.
  RequestState advance();

  // The time by which advance() must give a request.
  [[nodiscard]] const Deadline& deadline() const { return deadline_; }
  // Whether a request has begun and is not complete.
  [[nodiscard]] bool is_in_request() const { return is_shaken_ && (has_head_ || !input_.empty()); }

  // Decodes the next piece of the body. Waits for it; empty: the end.
  Result<std::string> read_body(std::size_t most, const Deadline& deadline,
                                BodyWait* wait = nullptr);
  [[nodiscard]] bool has_whole_body() const { return parser_.is_done() && body_.empty(); }
  // Prepares for the next request.
  void begin_next();

  // Reads and discards input, because a reset could destroy the last answer on its way; Gone when
  // the client has closed.
  void begin_lingering();
  [[nodiscard]] bool is_lingering() const { return is_lingering_; }

  [[nodiscard]] Transport& transport() { return *transport_; }
  [[nodiscard]] const RequestHead& head() const { return head_; }
  [[nodiscard]] const Remote& remote() const { return remote_; }
  [[nodiscard]] const Refusal& refusal() const { return refusal_; }
  // As the last head proved it; before the first request, as the socket tells.
  [[nodiscard]] const Admission& admission() const { return admission_; }
  // The group for which the listener counts this connection.
  [[nodiscard]] const std::string& group() const { return place_.group(); }
  [[nodiscard]] Clock::time_point idle_since() const { return idle_since_; }
  // Tells the worker that serves this connection to treat the client as gone. From any thread.
  void cut() { is_cut_ = true; }
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  [[nodiscard]] bool holds_input() const { return !input_.empty() || transport_->holds_bytes(); }
  // Becomes readable when the client hangs up; valid until the connection waits for a request. -1
  // if there is no descriptor for it.
  int hang_up_descriptor();
  void forget_hang_up() { hang_up_.reset(); }
  // Give up the transport and the bytes that were read too early, for an upgrade.
  std::unique_ptr<Transport> release_transport() { return std::move(transport_); }
  std::string release_input() { return std::move(input_); }
  [[nodiscard]] bool is_released() const { return transport_ == nullptr; }

 private:
  RequestState shake_hands();
  RequestState linger();
  RequestState refuse(Refusal refusal);
  // Reads into input_; Request means that bytes came.
  RequestState read_more();
  // Parses the head; Request means that it is complete.
  RequestState take_head();
  RequestState take_awaited_body();
  [[nodiscard]] bool awaits_body() const;
  Result<std::size_t> decode_into(char* space, std::size_t size);
  Result<> await_input(std::size_t most, const Deadline& deadline, BodyWait* wait);

  const ServerLimits& limits_;
  std::unique_ptr<Transport> transport_;
  Remote remote_;
  Admission admission_;
  ConnectionPlaces::Place place_;
  Clock::time_point idle_since_ = Clock::now();
  Deadline deadline_;
  RequestParser parser_;
  RequestHead head_;
  Refusal refusal_;
  std::string input_;  // arrived and not used
  std::string body_;   // decoded and not read
  bool is_shaken_ = false;
  bool has_head_ = false;
  bool is_refused_ = false;
  bool is_lingering_ = false;
  std::atomic<bool> is_cut_{false};
  std::size_t lingered_ = 0;
  UniqueFd hang_up_;
};

}  // namespace nutshell::http
