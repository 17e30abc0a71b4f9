// Passes the streams of an exec on and hashes them.
#pragma once

#include "base/fault_point.h"
#include "service/evidence/stream_hash.h"
#include "wire/exec_io.h"

namespace nutshell::service {

class HashingIo : public wire::ExecIo {
 public:
  explicit HashingIo(wire::ExecIo& io) : io_(io) {}

  Taken take(wire::Stream stream, std::string_view bytes) override {
    fault_point("exec.output");
    (stream == wire::Stream::Error ? error : output).add(bytes);
    return io_.take(stream, bytes);
  }
  [[nodiscard]] int input_descriptor() const override { return io_.input_descriptor(); }
  std::string read_input(std::size_t most) override {
    std::string bytes = io_.read_input(most);
    input.add(bytes);
    return bytes;
  }
  [[nodiscard]] int event_descriptor() const override { return io_.event_descriptor(); }
  std::optional<wire::ExecEvent> next_event() override { return io_.next_event(); }

  StreamHash input;
  StreamHash output;
  StreamHash error;

 private:
  wire::ExecIo& io_;
};

}  // namespace nutshell::service
