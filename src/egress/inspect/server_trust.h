// Connects to servers by TLS, and accepts them by the authorities that the host trusts, with others
// that its operator names. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/tls/tls_transport.h"

namespace nutshell::egress {

// The certificates that this machine trusts, as PEM: those of the file `named`, or, if it is empty,
// those of the system.
Result<std::string> host_authorities(const std::string& named);

class ServerTrust {
 public:
  // `authorities` is PEM, one certificate or many.
  static Result<ServerTrust> create(std::string_view authorities);

  // Does the client's part of the handshake, over HTTP/1.1.
  Result<std::unique_ptr<http::Transport>> reach(UniqueFd server, const std::string& name,
                                                 const Deadline& deadline) const;

 private:
  explicit ServerTrust(http::TlsContext context) : context_(std::move(context)) {}
  http::TlsContext context_;
};

}  // namespace nutshell::egress
