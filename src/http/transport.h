// A stream of bytes to the other side, bare or inside TLS; nothing here waits without a deadline.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::http {

// Not thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  enum class Progress {
    Moved,       // `bytes` bytes were read or written
    End,         // the other side sends no more
    WantsRead,   // nothing until the descriptor is readable
    WantsWrite,  // nothing until it is writable
  };
  struct Step {
    Progress progress = Progress::Moved;
    std::size_t bytes = 0;
  };

  // These three never wait.
  virtual Result<Step> handshake() { return Step{}; }
  virtual Result<Step> read_some(char* space, std::size_t size) = 0;
  virtual Result<Step> write_some(std::string_view bytes) = 0;
  // Says goodbye as the protocol wants it, without waiting; the descriptor stays open.
  virtual void end_writing() = 0;

  [[nodiscard]] virtual int descriptor() const = 0;
  // Whether bytes have arrived that poll(2) does not report any more.
  [[nodiscard]] virtual bool holds_bytes() const { return false; }
  // Whether the bytes on the descriptor are the bytes of the stream.
  [[nodiscard]] virtual bool is_bare() const = 0;
  virtual UniqueFd release() = 0;
  // Name in the other side's certificate; empty if it showed none.
  [[nodiscard]] virtual std::string certificate_name() const { return {}; }
  // When that certificate expires; nullopt if there is none.
  [[nodiscard]] virtual std::optional<std::chrono::system_clock::time_point> certificate_end()
      const {
    return std::nullopt;
  }

  Result<> finish_handshake(const Deadline& deadline);
  // 0 at the end of the stream.
  Result<std::size_t> read(char* space, std::size_t size, const Deadline& deadline);
  Result<> write(std::string_view bytes, const Deadline& deadline);
};

// Takes a connected socket.
using MakeTransport = std::function<Result<std::unique_ptr<Transport>>(UniqueFd)>;

Result<std::unique_ptr<Transport>> make_bare_transport(UniqueFd socket);

// Sees all bytes that a relay carries, and returns the bytes to pass on in their place.
class RelayFilter {
 public:
  virtual ~RelayFilter() = default;
  struct Passed {
    std::string to_stream;
    std::string to_transport;
  };
  virtual Result<Passed> from_transport(std::string_view bytes) = 0;
  virtual Result<Passed> from_stream(std::string_view bytes) = 0;
  // Whether a server that stops may cut the relay now.
  [[nodiscard]] virtual bool is_idle() const = 0;
};

// Carries bytes both ways until both sides have ended or one fails. A side that has ended its
// sending still receives.
struct RelayTerms {
  std::function<bool()> is_stopped;
  RelayFilter* filter = nullptr;  // nullptr: all bytes pass unchanged
};
Result<> relay(Transport& transport, int stream, const RelayTerms& terms);

}  // namespace nutshell::http
