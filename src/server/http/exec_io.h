// Connects the streams of an exec to an HTTP client.
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "http/exchange.h"
#include "service/execs/collected_output.h"
#include "wire/exec_io.h"

namespace nutshell::server {

// Keeps the output, feeds a text if there is one, and cancels the command when the client hangs up.
class WaitingClient : public service::CollectedOutput {
 public:
  WaitingClient(http::Exchange& exchange, const service::OutputRoom& room,
                std::optional<std::string> input);

  [[nodiscard]] int input_descriptor() const override { return always_ready_.get(); }
  std::string read_input(std::size_t most) override;
  [[nodiscard]] int event_descriptor() const override { return hang_up_; }
  std::optional<wire::ExecEvent> next_event() override;

 private:
  http::Exchange& exchange_;
  std::string input_;
  std::size_t given_ = 0;
  UniqueFd always_ready_;
  int hang_up_ = -1;
};

// The format of a stream of events.
enum class StreamFormat { Lines, ServerSentEvents };

// Sends the output as it comes, each piece with its offset, so that a client can resume there.
class StreamingClient : public wire::ExecIo {
 public:
  enum class OnHangUp { Leave, Cancel };
  struct Terms {
    StreamFormat format = StreamFormat::Lines;
    OnHangUp on_hang_up = OnHangUp::Leave;
    std::uint64_t output_offset = 0;
    std::uint64_t error_offset = 0;
  };
  StreamingClient(http::Exchange& exchange, Terms terms);

  Taken take(wire::Stream stream, std::string_view bytes) override;
  [[nodiscard]] int event_descriptor() const override { return hang_up_; }
  std::optional<wire::ExecEvent> next_event() override;
  [[nodiscard]] bool has_left() const override { return is_gone_; }

  // Sends an event that is not output.
  Result<> send(std::string_view kind, const std::string& json);
  // Sends the bytes that were held back because a character was incomplete.
  void flush();
  [[nodiscard]] bool is_gone() const { return is_gone_; }

 private:
  struct Source {
    std::uint64_t offset = 0;
    std::string held;
  };
  void send_piece(wire::Stream stream, std::size_t size);
  Source& source_of(wire::Stream stream) {
    return stream == wire::Stream::Error ? error_ : output_;
  }

  http::Exchange& exchange_;
  Terms terms_;
  Source output_;
  Source error_;
  int hang_up_ = -1;
  bool is_gone_ = false;
};

}  // namespace nutshell::server
