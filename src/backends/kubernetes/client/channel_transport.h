// The stream of an exec or of a forwarded port: WebSocket messages whose first byte names a
// channel. Standard output, or the port's bytes, are passed on; the beginning of standard error and
// how the command ended are kept.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "http/transport.h"
#include "http/websocket.h"

namespace nutshell::kubernetes {

class ChannelTransport : public http::Transport {
 public:
  enum class Protocol {
    ExecV5,  // standard input can be closed
    ExecV4,  // it can not; the connection is closed instead
    Port,
  };
  ChannelTransport(http::WebSocket socket, Protocol protocol)
      : socket_(std::move(socket)), protocol_(protocol) {}

  Result<Step> read_some(char* space, std::size_t size) override;
  // WantsWrite until the bytes of the last call are sent, like TLS: call it again with the same.
  Result<Step> write_some(std::string_view bytes) override;
  void end_writing() override;
  [[nodiscard]] int descriptor() const override { return socket_.descriptor(); }
  [[nodiscard]] bool holds_bytes() const override { return may_hold_; }
  [[nodiscard]] bool is_bare() const override { return false; }
  UniqueFd release() override { return {}; }  // there is no bare socket

  // How the command ended: its exit code, or an error if Kubernetes could not run it or the
  // connection was lost, in which case the command may still run. Valid after the end of the
  // stream.
  [[nodiscard]] Result<int> exit_code() const;
  [[nodiscard]] const std::string& error_text() const { return error_text_; }

 private:
  Result<> take_message(std::string bytes);
  [[nodiscard]] bool is_exec() const { return protocol_ != Protocol::Port; }

  http::WebSocket socket_;
  Protocol protocol_;
  std::string held_;  // output that the caller has not read
  bool may_hold_ = true;
  std::size_t sending_ = 0;  // bytes of the caller in the message that is being sent
  std::string error_text_;
  std::string status_;
  std::array<std::size_t, 2> port_bytes_ = {0, 0};  // of the port's number, seen on each channel
};

}  // namespace nutshell::kubernetes
