#include "http/tls/tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <climits>

#include "http/tls/tls_transport.h"

namespace nutshell::http {
namespace {

// Shared, because every transport and the factory itself use it, and end in any order.
using SharedContext = std::shared_ptr<SSL_CTX>;

Result<> show(SSL_CTX* context, const std::filesystem::path& certificate,
              const std::filesystem::path& key) {
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return tls_failure(ErrorCode::InvalidArgument, "load " + certificate.native());
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return tls_failure(ErrorCode::InvalidArgument, "load " + key.native());
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return tls_failure(ErrorCode::InvalidArgument,
                       fmt::format("{} is not the key of {}", key.native(), certificate.native()));
  }
  return {};
}

Result<> trust(SSL_CTX* context, const std::filesystem::path& authority) {
  const int loaded = authority.empty()
                         ? SSL_CTX_set_default_verify_paths(context)
                         : SSL_CTX_load_verify_locations(context, authority.c_str(), nullptr);
  if (loaded == 1) return {};
  return tls_failure(ErrorCode::InvalidArgument, "load authority " + authority.native());
}

// Instead of OpenSSL's own, which would ask at the terminal.
int no_passphrase(char* /*space*/, int /*size*/, int /*is_writing*/, void* /*data*/) {
  return -1;
}

using Bytes = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using PrivateKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bytes bytes_of(const std::string& text) {
  return {
      BIO_new_mem_buf(text.data(), static_cast<int>(std::min<std::size_t>(text.size(), INT_MAX))),
      BIO_free};
}

// nullptr at the end of the text, and where it holds something else.
Certificate next_certificate(BIO* bytes) {
  return {PEM_read_bio_X509(bytes, nullptr, nullptr, nullptr), X509_free};
}

Result<> trust_text(SSL_CTX* context, const std::string& authority) {
  if (authority.empty()) return trust(context, {});
  const Bytes bytes = bytes_of(authority);
  std::size_t count = 0;
  for (Certificate one = next_certificate(bytes.get()); one; one = next_certificate(bytes.get())) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one.get()) != 1)
      return tls_failure(ErrorCode::InvalidArgument, "trust an authority");
    ++count;
  }
  if (count == 0) return tls_failure(ErrorCode::InvalidArgument, "read the authority");
  ERR_clear_error();  // the end of the text is one for OpenSSL
  return {};
}

Result<> show_texts(SSL_CTX* context, const TlsClientTexts& texts) {
  const Bytes chain = bytes_of(texts.certificate);
  const Certificate first = next_certificate(chain.get());
  if (!first || SSL_CTX_use_certificate(context, first.get()) != 1)
    return tls_failure(ErrorCode::InvalidArgument, "read the client's certificate");
  for (Certificate one = next_certificate(chain.get()); one; one = next_certificate(chain.get())) {
    if (SSL_CTX_add1_chain_cert(context, one.get()) != 1)
      return tls_failure(ErrorCode::InvalidArgument, "read the client's certificate chain");
  }
  ERR_clear_error();  // the end of the text is one for OpenSSL
  const Bytes bytes = bytes_of(texts.key);
  const PrivateKey key(PEM_read_bio_PrivateKey(bytes.get(), nullptr, no_passphrase, nullptr),
                       EVP_PKEY_free);
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    return tls_failure(ErrorCode::InvalidArgument, "read the client's key");
  return {};
}

bool is_address(const std::string& name) {
  in6_addr space{};
  return ::inet_pton(AF_INET, name.c_str(), &space) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), &space) == 1;
}

}  // namespace

Result<TlsContext> new_tls_context(TlsSide side) {
  TlsContext context(
      SSL_CTX_new(side == TlsSide::Server ? TLS_server_method() : TLS_client_method()));
  if (!context) return tls_failure(ErrorCode::ResourceExhausted, "begin");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  return context;
}

Result<> expect_server(SSL* tls, const std::string& name) {
  bool is_set = false;
  if (is_address(name)) {
    is_set = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), name.c_str()) == 1;
  } else {
    // Expands the macro SSL_set_tlsext_host_name by hand, because it contains C-style casts.
    is_set = SSL_set1_host(tls, name.c_str()) == 1 &&
             SSL_ctrl(tls, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                      const_cast<char*>(name.c_str())) == 1;
  }
  if (is_set) return {};
  return tls_failure(ErrorCode::InvalidArgument, "use the server name " + name);
}

Result<MakeTransport> tls_server(const TlsServerFiles& files) {
  SharedContext context = TRY(new_tls_context(TlsSide::Server));
  TRY(show(context.get(), files.certificate, files.key));
  if (!files.client_authority.empty()) {
    TRY(trust(context.get(), files.client_authority));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    const std::string purpose = "nutshell";  // OpenSSL resumes sessions only within one context
    SSL_CTX_set_session_id_context(context.get(),
                                   reinterpret_cast<const unsigned char*>(purpose.data()),
                                   static_cast<unsigned>(purpose.size()));
  }
  return [context](UniqueFd socket) -> Result<std::unique_ptr<Transport>> {
    Tls tls(SSL_new(context.get()));
    if (tls) SSL_set_accept_state(tls.get());
    return make_tls_transport(std::move(tls), std::move(socket));
  };
}

namespace {

MakeTransport client_transport(SharedContext context, std::string name) {
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return [context = std::move(context),
          name = std::move(name)](UniqueFd socket) -> Result<std::unique_ptr<Transport>> {
    Tls tls(SSL_new(context.get()));
    if (tls) {
      SSL_set_connect_state(tls.get());
      TRY(expect_server(tls.get(), name));
    }
    return make_tls_transport(std::move(tls), std::move(socket));
  };
}

Result<> check_server_name(const std::string& name) {
  if (!name.empty()) return {};
  return failure(ErrorCode::InvalidArgument, "TLS: whose certificate is to be expected?");
}

}  // namespace

Result<MakeTransport> tls_client(const TlsClientFiles& files) {
  TRY(check_server_name(files.server_name));
  SharedContext context = TRY(new_tls_context(TlsSide::Client));
  TRY(trust(context.get(), files.authority));
  if (!files.certificate.empty()) TRY(show(context.get(), files.certificate, files.key));
  return client_transport(std::move(context), files.server_name);
}

Result<MakeTransport> tls_client_of(const TlsClientTexts& texts) {
  TRY(check_server_name(texts.server_name));
  SharedContext context = TRY(new_tls_context(TlsSide::Client));
  TRY(trust_text(context.get(), texts.authority));
  if (!texts.certificate.empty()) TRY(show_texts(context.get(), texts));
  return client_transport(std::move(context), texts.server_name);
}

}  // namespace nutshell::http
