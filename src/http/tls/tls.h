// TLS 1.2 and 1.3 for transports: what a server shows and demands, what a client trusts.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

// Until when a certificate is valid; nullopt: this is none.
std::optional<std::chrono::system_clock::time_point> certificate_end_of(std::string_view pem);

}  // namespace nutshell::http
