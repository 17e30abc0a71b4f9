// Copies bytes between two connected sockets, in both directions, until both have ended or one has
// broken. Reads no more than the other side takes. Used by the thread of the event loop.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "egress/allowance.h"
#include "egress/event_loop.h"

namespace nutshell::egress {

class Carrier {
 public:
  struct End {
    bool is_broken = false;
    bool is_over_allowance = false;
  };
  // Called once; it may delete the carrier.
  using TakeEnd = std::function<void(const End&)>;
  // Shared by all carriers of a loop, because only one of them reads at a time.
  using Buffer = std::vector<char>;
  static constexpr std::size_t kBufferBytes = 256U << 10U;

  Carrier(EventLoop& loop, Allowance& allowance, Buffer& buffer)
      : loop_(loop), allowance_(allowance), buffer_(buffer) {}
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  ~Carrier();

  Result<> begin(UniqueFd client, UniqueFd server, TakeEnd take_end);
  // Closes both sockets so that the programs at their other ends see a broken connection.
  void reset();
  [[nodiscard]] std::uint64_t sent() const { return ways_[kToServer].bytes; }
  [[nodiscard]] std::uint64_t received() const { return ways_[kToClient].bytes; }

 private:
  static constexpr std::size_t kToServer = 0;  // reads the client
  static constexpr std::size_t kToClient = 1;

  struct Way {
    std::string pending;  // read, and not written yet
    std::size_t written = 0;
    std::uint64_t bytes = 0;
    bool has_ended = false;     // nothing more to read
    bool is_passed_on = false;  // and the other side was told
  };
  enum class Step : std::uint8_t { Done, Blocked, Broken };

  // The socket that this way reads; the other one it writes.
  [[nodiscard]] UniqueFd& source(std::size_t way) { return sockets_.at(way); }
  [[nodiscard]] UniqueFd& target(std::size_t way) { return sockets_.at(1 - way); }
  Result<> watch(std::size_t side, std::uint32_t events);
  void on_event(std::size_t side, std::uint32_t events);
  // Carries what is there, up to a share. Returns false if the connection broke.
  bool carry(std::size_t way);
  Step write_pending(std::size_t way);
  // Returns how many bytes of the shared buffer were filled; nullopt if nothing more can be read.
  std::optional<std::size_t> read_some(std::size_t way, Step& step);
  bool pass_end(std::size_t way);
  void update();
  void pause();
  void end(const End& end);

  EventLoop& loop_;
  Allowance& allowance_;
  Buffer& buffer_;
  std::array<UniqueFd, 2> sockets_;  // of the client, of the server
  std::array<EventLoop::Watch, 2> watches_{};
  std::array<Way, 2> ways_;
  std::optional<EventLoop::Timer> timer_;
  bool is_over_allowance_ = false;
  TakeEnd take_end_;
};

// Makes closing `socket` look like a broken connection to its peer.
void break_on_close(int socket);

}  // namespace nutshell::egress
