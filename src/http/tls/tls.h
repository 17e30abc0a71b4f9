// TLS 1.2 and 1.3 for transports: what a server shows and demands, what a client trusts.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/transport.h"

namespace nutshell::http {

struct TlsServerFiles {
  std::filesystem::path certificate;  // PEM, the chain
  std::filesystem::path key;
  std::filesystem::path client_authority;  // not empty: clients must show a certificate of its
};
Result<MakeTransport> tls_server(const TlsServerFiles& files);

struct TlsClientFiles {
  std::string server_name;          // that the certificate must be for: a name, or an address
  std::filesystem::path authority;  // PEM; empty: the system's
  std::filesystem::path certificate;
  std::filesystem::path key;
};
Result<MakeTransport> tls_client(const TlsClientFiles& files);

}  // namespace nutshell::http
