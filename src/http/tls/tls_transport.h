// The transport inside a TLS connection. Its OpenSSL objects stay in the source file.
#pragma once

#include <openssl/types.h>

#include <memory>

#include "http/transport.h"

namespace nutshell::http {

struct FreeTlsContext {
  void operator()(SSL_CTX* context) const;
};
struct FreeTls {
  void operator()(SSL* tls) const;
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTlsContext>;
using Tls = std::unique_ptr<SSL, FreeTls>;

// Makes an error like "load key.pem: no start line" and empties OpenSSL's error queue.
Failure tls_failure(ErrorCode code, const std::string& what);

// For TLS 1.2 and 1.3, without compression and renegotiation.
enum class TlsSide { Server, Client };
Result<TlsContext> new_tls_context(TlsSide side);

// Makes a client ask for the server of this name or address, and accept no other certificate.
Result<> expect_server(SSL* tls, const std::string& name);

// `tls` was already set to be the client or the server.
Result<std::unique_ptr<Transport>> make_tls_transport(Tls tls, UniqueFd socket);

}  // namespace nutshell::http
