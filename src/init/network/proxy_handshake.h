// The beginning of a connection to init's proxy on loopback: SOCKS5, HTTP CONNECT, or a plain HTTP
// request for another host. Parses strictly; all bytes are hostile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nutshell::init {

class ProxyHandshake {
 public:
  enum class Step {
    NeedsMore,
    IsReady,  // the target is known
    Failed,   // the reply tells why, and the connection ends
  };
  // Takes bytes of the client. After NeedsMore and Failed, `reply()` may have bytes for it.
  Step take(std::string_view bytes);
  // Moves out what is to be sent to the client now.
  std::string reply();

  // With IsReady: a name or an address (4 or 16 bytes), and a port.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Moves out the bytes for the server that the client has sent so far.
  std::string first_bytes();

  // The answer that the client gets once the host has decided.
  [[nodiscard]] std::string success() const;
  [[nodiscard]] std::string failure(int error_number, bool is_refusal,
                                    std::string_view reason) const;

 private:
  enum class Kind { Unknown, SocksGreeting, SocksRequest, Connect, Forward };
  Step take_socks_greeting();
  Step take_socks_request();
  Step take_http();
  Step fail(std::string_view reply);
  bool read_host(std::string_view host);
  bool read_authority(std::string_view authority, std::uint16_t default_port);
  bool read_forward(std::string_view method, std::string_view target, std::string_view version,
                    std::string_view fields);

  Kind kind_ = Kind::Unknown;
  std::string incoming_;
  std::string reply_;
  std::string name_;
  std::string address_;
  std::uint16_t port_ = 0;
};

}  // namespace nutshell::init
