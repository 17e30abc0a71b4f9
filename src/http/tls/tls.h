// Makes TLS 1.2 and 1.3 transports for servers and clients.
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
  std::filesystem::path client_authority;  // if given, clients must have a certificate signed by it
};
Result<MakeTransport> tls_server(const TlsServerFiles& files);

struct TlsClientFiles {
  std::string server_name;          // name or address that the certificate must have
  std::filesystem::path authority;  // PEM; if empty, the system's authorities
  std::filesystem::path certificate;
  std::filesystem::path key;
};
Result<MakeTransport> tls_client(const TlsClientFiles& files);

// The same with certificates that a program holds in memory.
struct TlsClientTexts {
  std::string server_name;
  std::string authority;  // PEM; if empty, the system's authorities
  std::string certificate = {};
  std::string key = {};
};
Result<MakeTransport> tls_client_of(const TlsClientTexts& texts);

// When a certificate expires; nullopt if this is not a certificate.
std::optional<std::chrono::system_clock::time_point> certificate_end_of(std::string_view pem);

}  // namespace nutshell::http
