#include "egress/inspect/authority.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <chrono>
#include <map>

#include "base/deadline.h"
#include "base/guarded.h"
#include "base/random_id.h"
#include "egress/inspect/host_port.h"
#include "http/tls/tls_transport.h"

namespace nutshell::egress {
namespace {

using http::tls_failure;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Bytes = std::unique_ptr<BIO, decltype(&BIO_free)>;

constexpr long kHour = 3600;
constexpr long kDay = 24 * kHour;
constexpr std::size_t kMostContexts = 256;
constexpr std::size_t kMostNameBytes = 64;

Failure no_certificate() {
  return tls_failure(ErrorCode::Internal, "make a certificate");
}

bool extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) return false;
  const bool is_added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return is_added;
}

bool set_random_serial(X509* certificate) {
  const std::uint64_t number = random_number() >> 1U;  // positive as a signed number
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number) == 1;
}

// Valid since an hour ago, because clocks differ.
Certificate begin_certificate(EVP_PKEY* key, const std::string& name, long seconds) {
  Certificate certificate(X509_new(), X509_free);
  if (!certificate) return certificate;
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  const bool is_begun =
      X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
      set_random_serial(certificate.get()) &&
      X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kHour) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(certificate.get()), seconds) != nullptr &&
      X509_set_pubkey(certificate.get(), key) == 1 &&
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                 0) == 1;
  if (!is_begun) certificate.reset();
  return certificate;
}

Result<Certificate> make_authority(EVP_PKEY* key) {
  auto certificate =
      begin_certificate(key, fmt::format("Nutshell sandbox {}", random_id(8)), 365 * kDay);
  if (!certificate) return no_certificate();
  X509* raw = certificate.get();
  const bool is_made = X509_set_issuer_name(raw, X509_get_subject_name(raw)) == 1 &&
                       extend(raw, raw, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                       extend(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                       extend(raw, raw, NID_subject_key_identifier, "hash") &&
                       extend(raw, raw, NID_authority_key_identifier, "keyid:always") &&
                       X509_sign(raw, key, EVP_sha256()) > 0;
  if (!is_made) return no_certificate();
  return certificate;
}

// `name` is a normal name or address, so it cannot add words to an extension.
Result<Certificate> make_leaf(EVP_PKEY* key, const std::string& name, X509* issuer,
                              EVP_PKEY* issuer_key) {
  auto certificate =
      begin_certificate(key, name.size() <= kMostNameBytes ? name : "nutshell", 7 * kDay);
  if (!certificate) return no_certificate();
  X509* raw = certificate.get();
  const bool is_made =
      X509_set_issuer_name(raw, X509_get_subject_name(issuer)) == 1 &&
      extend(raw, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
      extend(raw, issuer, NID_key_usage, "critical,digitalSignature") &&
      extend(raw, issuer, NID_ext_key_usage, "serverAuth") &&
      extend(raw, issuer, NID_subject_key_identifier, "hash") &&
      extend(raw, issuer, NID_authority_key_identifier, "keyid:always") &&
      extend(raw, issuer, NID_subject_alt_name, (is_address(name) ? "IP:" : "DNS:") + name) &&
      X509_sign(raw, issuer_key, EVP_sha256()) > 0;
  if (!is_made) return no_certificate();
  return certificate;
}

Result<std::string> text_of(BIO* bytes) {
  char* begin = nullptr;
  const long size = BIO_get_mem_data(bytes, &begin);
  if (size <= 0) return no_certificate();
  return std::string(begin, static_cast<std::size_t>(size));
}

// NOLINTNEXTLINE(readability-function-size): OpenSSL gives the parameters
int choose_protocol(SSL* /*tls*/, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned offered_size, void* /*argument*/) {
  static constexpr std::array<unsigned char, 9> kOurs = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, kOurs.data(), kOurs.size(), offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

// Clients name no server where they use an address.
bool asks_for(const SSL* tls, const std::string& name) {
  const char* asked = SSL_get_servername(tls, TLSEXT_NAMETYPE_host_name);
  if (asked == nullptr) return is_address(name);
  return normal_host(asked) == name;
}

Result<http::TlsContext> make_context(X509* leaf, EVP_PKEY* key) {
  http::TlsContext context = TRY(http::new_tls_context(http::TlsSide::Server));
  if (SSL_CTX_use_certificate(context.get(), leaf) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key) != 1) {
    return no_certificate();
  }
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  return context;
}

struct NamedContext {
  http::TlsContext context;
  Clock::time_point made_at;
};

}  // namespace

struct Authority::State {
  Key key{nullptr, EVP_PKEY_free};
  Certificate certificate{nullptr, X509_free};
  Key leaf_key{nullptr, EVP_PKEY_free};  // of all certificates for servers
  std::string pem;
  Guarded<std::map<std::string, NamedContext>> contexts;

  Result<http::Tls> begin(const std::string& name);
  http::Tls begin_known(const std::string& name);
};

http::Tls Authority::State::begin_known(const std::string& name) {
  return contexts.with([&](auto& known) {
    const auto found = known.find(name);
    const bool is_good =
        found != known.end() && Clock::now() - found->second.made_at < std::chrono::hours(24);
    return http::Tls(is_good ? SSL_new(found->second.context.get()) : nullptr);
  });
}

Result<http::Tls> Authority::State::begin(const std::string& name) {
  if (auto tls = begin_known(name)) return tls;
  const Certificate leaf = TRY(make_leaf(leaf_key.get(), name, certificate.get(), key.get()));
  http::TlsContext context = TRY(make_context(leaf.get(), leaf_key.get()));
  http::Tls tls(SSL_new(context.get()));  // keeps the context by itself
  contexts.with([&](auto& known) {
    if (known.size() >= kMostContexts) known.clear();
    known[name] = {std::move(context), Clock::now()};
  });
  return tls;
}

Authority::Authority(std::unique_ptr<State> state) : state_(std::move(state)) {}
Authority::Authority(Authority&&) noexcept = default;
Authority& Authority::operator=(Authority&&) noexcept = default;
Authority::~Authority() = default;

Result<Authority> Authority::create() {
  auto state = std::make_unique<State>();
  state->key.reset(EVP_EC_gen("P-256"));
  if (!state->key) return no_certificate();
  state->certificate = TRY(make_authority(state->key.get()));
  return finish(std::move(state));
}

Result<Authority> Authority::from_pem(std::string_view pem) {
  auto state = std::make_unique<State>();
  const Bytes bytes(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  if (!bytes) return no_certificate();
  state->certificate.reset(PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr));
  state->key.reset(PEM_read_bio_PrivateKey(bytes.get(), nullptr, nullptr, nullptr));
  if (!state->certificate || !state->key ||
      X509_check_private_key(state->certificate.get(), state->key.get()) != 1) {
    return tls_failure(ErrorCode::InvalidArgument, "read the authority of the sandbox");
  }
  return finish(std::move(state));
}

Result<Authority> Authority::finish(std::unique_ptr<State> state) {
  state->leaf_key.reset(EVP_EC_gen("P-256"));
  const Bytes bytes(BIO_new(BIO_s_mem()), BIO_free);
  if (!state->leaf_key || !bytes ||
      PEM_write_bio_X509(bytes.get(), state->certificate.get()) != 1) {
    return no_certificate();
  }
  state->pem = TRY(text_of(bytes.get()));
  return Authority(std::move(state));
}

const std::string& Authority::certificate() const {
  return state_->pem;
}

Result<std::string> Authority::to_pem() const {
  const Bytes bytes(BIO_new(BIO_s_mem()), BIO_free);
  if (!bytes || PEM_write_bio_PrivateKey(bytes.get(), state_->key.get(), nullptr, nullptr, 0,
                                         nullptr, nullptr) != 1) {
    return no_certificate();
  }
  return state_->pem + TRY(text_of(bytes.get()));
}

Result<std::unique_ptr<http::Transport>> Authority::answer(UniqueFd client, const std::string& name,
                                                           const Deadline& deadline) {
  http::Tls tls = TRY(state_->begin(name));
  if (!tls) return tls_failure(ErrorCode::ResourceExhausted, "begin");
  SSL_set_accept_state(tls.get());
  const SSL* raw = tls.get();  // the transport owns it, and is the last to go
  auto transport = TRY(http::make_tls_transport(std::move(tls), std::move(client)));
  TRY(transport->finish_handshake(deadline));
  if (!asks_for(raw, name)) {
    return failure(ErrorCode::PermissionDenied,
                   fmt::format("TLS: the client asks for another server than {}", name));
  }
  return transport;
}

}  // namespace nutshell::egress
