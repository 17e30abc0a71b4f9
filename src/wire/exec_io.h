// What an exec's streams are connected to on the host's side: a terminal, a buffer, a socket.
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

  // Takes all of it, or says that nobody reads this stream any more, or that there is no room for
  // it: the whole command is ended then, with OutputLimit.
  enum class Taken { Yes, ReaderGone, NoRoom };
  virtual Taken take(Stream stream, std::string_view bytes) = 0;

  // Told of output that init dropped before it could be taken; only where ExecBounds allow it.
  virtual void skip(Stream /*stream*/, std::uint64_t /*bytes*/) {}

  // Polled for input while the command wants some; -1 for none.
  [[nodiscard]] virtual int input_descriptor() const { return -1; }
  // At most `most` bytes; empty is the end.
  virtual std::string read_input(std::size_t /*most*/) { return {}; }

  // Readable when next_event() has something to say; -1 for none.
  [[nodiscard]] virtual int event_descriptor() const { return -1; }
  virtual std::optional<ExecEvent> next_event() { return std::nullopt; }

  // Whether nobody is left to follow the command, as next_event() found out.
  [[nodiscard]] virtual bool has_left() const { return false; }
};

// Keeps what it gets; the exec's output limit bounds it.
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
