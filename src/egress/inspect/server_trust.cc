#include "egress/inspect/server_trust.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>

#include "base/file.h"

namespace nutshell::egress {
namespace {

using http::tls_failure;

constexpr std::size_t kMostAuthorityBytes = 16U << 20U;

// Those of Debian, Fedora, openSUSE and Alpine.
constexpr std::array<const char*, 5> kPlaces = {"/etc/ssl/certs/ca-certificates.crt",
                                                "/etc/pki/tls/certs/ca-bundle.crt",
                                                "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                                "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

}  // namespace

Result<std::string> host_authorities(const std::string& named) {
  if (!named.empty()) return read_file(named, kMostAuthorityBytes);
  for (const char* place : kPlaces) {
    auto text = read_file(place, kMostAuthorityBytes);
    if (text || text.error().code != ErrorCode::NotFound) return text;
  }
  return failure(ErrorCode::NotFound,
                 "This machine has no list of certificate authorities. Install the package "
                 "ca-certificates, or name a list by SSL_CERT_FILE.");
}

Result<ServerTrust> ServerTrust::create(std::string_view authorities) {
  http::TlsContext context = TRY(http::new_tls_context(http::TlsSide::Client));
  const std::unique_ptr<BIO, decltype(&BIO_free)> bytes(
      BIO_new_mem_buf(authorities.data(), static_cast<int>(authorities.size())), BIO_free);
  if (!bytes) return tls_failure(ErrorCode::ResourceExhausted, "begin");
  X509_STORE* store = SSL_CTX_get_cert_store(context.get());
  int count = 0;
  for (;; ++count) {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        PEM_read_bio_X509_AUX(bytes.get(), nullptr, nullptr, nullptr), X509_free);
    if (!certificate) break;
    if (X509_STORE_add_cert(store, certificate.get()) != 1) {
      return tls_failure(ErrorCode::InvalidArgument, "add a certificate authority");
    }
  }
  const bool is_at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (count == 0 || !is_at_end) {
    return tls_failure(ErrorCode::InvalidArgument, "read certificate authorities");
  }
  ERR_clear_error();
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  static constexpr std::array<unsigned char, 9> kProtocols = {8,   'h', 't', 't', 'p',
                                                              '/', '1', '.', '1'};
  if (SSL_CTX_set_alpn_protos(context.get(), kProtocols.data(), kProtocols.size()) != 0) {
    return tls_failure(ErrorCode::ResourceExhausted, "begin");
  }
  return ServerTrust(std::move(context));
}

Result<std::unique_ptr<http::Transport>> ServerTrust::reach(UniqueFd server,
                                                            const std::string& name,
                                                            const Deadline& deadline) const {
  http::Tls tls(SSL_new(context_.get()));
  if (!tls) return tls_failure(ErrorCode::ResourceExhausted, "begin");
  SSL_set_connect_state(tls.get());
  TRY(http::expect_server(tls.get(), name));
  const SSL* raw = tls.get();  // the transport owns it, and is the last to go
  auto transport = TRY(http::make_tls_transport(std::move(tls), std::move(server)));
  if (const auto done = transport->finish_handshake(deadline); !done) {
    const long verified = SSL_get_verify_result(raw);
    if (verified == X509_V_OK) return while_doing(fmt::format("reach {}", name), done.error());
    return failure(ErrorCode::Unavailable,
                   fmt::format("The certificate of {} is not trusted on the host: {}.", name,
                               X509_verify_cert_error_string(verified)));
  }
  return transport;
}

}  // namespace nutshell::egress
