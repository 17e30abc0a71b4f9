// A blocking HTTP/1.1 client with a deadline on everything. Keeps its connection for the next
// request. What the server sends is as hostile as anything. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/message.h"
#include "http/parser.h"
#include "http/transport.h"
#include "http/websocket.h"

namespace nutshell::http {

using Dial = std::function<Result<UniqueFd>(const Deadline&)>;
Dial dial_unix(std::filesystem::path path);
// Tries every address of the name.
Dial dial_tcp(std::string host, std::uint16_t port);

class Client {
 public:
  struct Options {
    Dial dial;
    MakeTransport make_transport = make_bare_transport;
    std::string host = "localhost";  // for the Host header
    std::size_t most_head_bytes = 64U << 10U;
  };
  explicit Client(Options options) : options_(std::move(options)) {}

  struct Request {
    std::string method = "GET";
    std::string target = "/";
    Headers headers = {};
    std::string body = {};
    // Instead of `body`: at most so many bytes each time; empty: the end.
    std::function<Result<std::string>(std::size_t most)> source = nullptr;
  };
  struct Response {
    int status = 0;
    Headers headers;
    std::string body;
  };

  // The whole answer; ResourceExhausted when its body is longer than `limit`.
  Result<Response> send(const Request& request, const Deadline& deadline,
                        std::size_t limit = 64U << 20U);

  // The answer's head; its body follows piece by piece, and is to be read to its end, or dropped
  // with the connection by close().
  Result<ResponseHead> begin(const Request& request, const Deadline& deadline);
  Result<std::string> read_part(std::size_t most, const Deadline& deadline);  // empty: the end

  // Asks for another protocol. The transport holds no bytes that came behind the answer: they are
  // in `early`.
  struct Upgraded {
    std::unique_ptr<Transport> transport;
    std::string early;
  };
  // Any other answer than 101 (or 200, which some servers give) is an error with its body's text.
  Result<Upgraded> upgrade(const Request& request, std::string_view protocol,
                           const Deadline& deadline);
  // The bare socket, which nothing was read from that belongs to the new protocol. Unsupported
  // inside TLS.
  Result<UniqueFd> upgrade_raw(const Request& request, std::string_view protocol,
                               const Deadline& deadline);
  // Asks for another protocol and returns whatever the server answers.
  struct UpgradeAnswer {
    int status = 0;
    Headers headers;
    std::unique_ptr<Transport> transport;  // with 101; it still holds all of the new protocol
    std::string body;                      // with any other status; at most 64 KiB
  };
  Result<UpgradeAnswer> request_upgrade(const Request& request, std::string_view protocol,
                                        const Deadline& deadline);
  Result<WebSocket> upgrade_websocket(Request request, const Deadline& deadline,
                                      std::size_t most_message_bytes = 16U << 20U);

  void close();
  // Of the connection that is used; -1: none is open.
  [[nodiscard]] int descriptor() const { return transport_ ? transport_->descriptor() : -1; }

 private:
  enum class Reading { Ahead, Exactly };
  Result<> open(const Deadline& deadline);
  Result<> send_request(const Request& request, const Deadline& deadline);
  Result<> send_source(const Request& request, const Deadline& deadline);
  Result<ResponseHead> read_head(std::string_view method, Reading reading,
                                 const Deadline& deadline);
  Result<> read_head_bytes(Reading reading, const Deadline& deadline);
  Result<ResponseHead> begin_upgrade(const Request& request, std::string_view protocol,
                                     Reading reading, const Deadline& deadline);
  Result<ResponseHead> ask_upgrade(const Request& request, std::string_view protocol,
                                   Reading reading, const Deadline& deadline);
  std::string read_short_body(std::size_t most, const Deadline& deadline);
  [[nodiscard]] bool is_stale() const;

  Options options_;
  std::unique_ptr<Transport> transport_;
  ResponseParser parser_;
  std::string input_;
  bool keeps_alive_ = false;
  bool is_in_body_ = false;
};

}  // namespace nutshell::http
