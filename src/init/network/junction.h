// Listens on loopback, so that init can connect the socket of a command to itself. The command
// keeps its socket, with its options, flags and copies; init gets the other end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "init/network/target.h"

namespace nutshell::init {

class Junction {
 public:
  static Result<Junction> open();

  [[nodiscard]] int four() const { return four_.get(); }
  [[nodiscard]] int six() const { return six_.get(); }  // -1 where there is no IPv6

  // A listening socket on 127.0.0.1, and its port.
  static Result<std::pair<UniqueFd, std::uint16_t>> listen();

  // Begins to connect `socket`, which may be shared with the command, without waiting. Returns 0,
  // EINPROGRESS, or why it failed.
  [[nodiscard]] int connect(int socket, const Target& target) const;

  // The next connection to one of the two listeners. Commands can connect to them too, so the peer
  // tells which socket it is.
  struct Arrival {
    UniqueFd socket;
    std::string peer;  // as name_of() gives it for the other end
  };
  static std::optional<Arrival> accept(int listener);
  // A socket's own address as its peer sees it.
  static std::string name_of(int socket);

 private:
  UniqueFd four_;
  UniqueFd six_;
  std::uint16_t port_four_ = 0;
  std::uint16_t port_six_ = 0;
};

// Connects without waiting, whatever the socket's flags are. Returns 0 or errno.
int connect_at_once(int socket, const SocketAddress& address);

}  // namespace nutshell::init
