// Carries the bytes of one flow between a socket and the host, within a window in each direction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::init {

class Carrier {
 public:
  // `first` was read from the socket before.
  explicit Carrier(UniqueFd socket, std::string first = {})
      : socket_(std::move(socket)), first_(std::move(first)) {}

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  // Called with the events that epoll reports once for each change.
  void handle_events(std::uint32_t events);

  // From the host. An error means that it broke the protocol.
  Result<> pass_on(std::string_view bytes);
  void end();
  Result<> consumed(std::uint64_t offset);
  // Makes the socket's other end see a broken connection.
  void reset();

  // To the host.
  enum class Step { Nothing, Data, End, Broken };
  [[nodiscard]] bool may_read() const;
  // Reads at most a frame; on Data the bytes are in `bytes`.
  Step read(std::string& bytes);
  // The offset of a FlowConsumed message, if one is due.
  std::optional<std::uint64_t> due_consumption();

  // Whether both directions have ended, or the connection is broken.
  [[nodiscard]] bool is_over() const { return is_broken_ || (has_read_end_ && has_shut_); }
  [[nodiscard]] bool is_broken() const { return is_broken_; }

  bool is_queued = false;  // for the owner's queue of flows that may be read

 private:
  void write_out();

  UniqueFd socket_;
  std::string first_;         // to the host, before what the socket has
  std::string outgoing_;      // from the host, not yet taken by the socket
  std::size_t written_ = 0;   // of `outgoing_`
  std::uint64_t passed_ = 0;  // bytes from the host that the socket took
  std::uint64_t told_ = 0;    // the host knows of this many
  std::uint64_t sent_ = 0;    // bytes to the host
  std::uint64_t consumed_ = 0;
  bool is_readable_ = true;
  bool has_hung_up_ = false;  // the other end has shut its side down: the end can be read
  bool has_read_end_ = false;
  bool has_host_ended_ = false;
  bool has_shut_ = false;
  bool is_broken_ = false;
};

}  // namespace nutshell::init
