// The host's end of an exec's streams: a terminal, a buffer, a socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/exec.h"
#include "wire/schema.h"

namespace nutshell::wire {

struct CancelExec {};
struct SendSignal {
  int number = 0;
};
using ExecEvent = std::variant<WindowSize, SendSignal, CancelExec>;

class ExecIo {
 public:
  virtual ~ExecIo() = default;

  // Takes all bytes, or tells that nobody reads this stream any more, or that there is no room; in
  // the last case the command is ended with OutputLimit.
  enum class Taken { Yes, ReaderGone, NoRoom };
  virtual Taken take(Stream stream, std::string_view bytes) = 0;

  // Called for output that init dropped before it was taken; only if ExecBounds allow it.
  virtual void skip(Stream /*stream*/, std::uint64_t /*bytes*/) {}

  // Polled for input while the command wants some; -1 for none.
  [[nodiscard]] virtual int input_descriptor() const { return -1; }
  // Returns at most `most` bytes; empty at the end of the input.
  virtual std::string read_input(std::size_t /*most*/) { return {}; }

  // Readable when next_event() has something to say; -1 for none.
  [[nodiscard]] virtual int event_descriptor() const { return -1; }
  virtual std::optional<ExecEvent> next_event() { return std::nullopt; }

  // Whether next_event() found that the command's client is gone.
  [[nodiscard]] virtual bool has_left() const { return false; }
};

// Keeps all output in memory; the exec's output limit bounds it.
class CapturedOutput : public ExecIo {
 public:
  Taken take(Stream stream, std::string_view bytes) override {
    (stream == Stream::Error ? error : output) += bytes;
    return Taken::Yes;
  }

  std::string output;
  std::string error;
};

}  // namespace nutshell::wire
