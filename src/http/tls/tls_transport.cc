#include "http/tls/tls_transport.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

namespace nutshell::http {
namespace {

int limited(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

// OpenSSL's own socket BIO raises SIGPIPE when the other side is gone.
int send_bytes(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t count =
      ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

int receive_bytes(BIO* bio, char* space, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = ::recv(socket_of(bio), space, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (count == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(count);
}

long control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

int begin(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

const BIO_METHOD* socket_method() {
  // Made once and never freed, like the library it is registered with.
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write(made, send_bytes);
    BIO_meth_set_read(made, receive_bytes);
    BIO_meth_set_ctrl(made, control);
    BIO_meth_set_create(made, begin);
    return made;
  }();
  return kMethod;
}

std::optional<std::chrono::system_clock::time_point> end_of(const X509& certificate) {
  std::tm moment{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &moment) != 1) return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&moment));
}

class TlsTransport : public Transport {
 public:
  TlsTransport(Tls tls, UniqueFd socket) : socket_(std::move(socket)), tls_(std::move(tls)) {}

  // Clears OpenSSL's error queue first: SSL_get_error() would report an earlier error of this
  // thread. The calls below do the same.
  Result<Step> handshake() override {
    ERR_clear_error();
    auto step = step_of(SSL_do_handshake(tls_.get()), "handshake");
    // Another attempt would end in the same way.
    if (!step && SSL_get_verify_result(tls_.get()) != X509_V_OK)
      step.error().code = ErrorCode::Unauthenticated;
    return step;
  }

  Result<Step> read_some(char* space, std::size_t size) override {
    ERR_clear_error();
    return step_of(SSL_read(tls_.get(), space, limited(size)), "receive");
  }

  Result<Step> write_some(std::string_view bytes) override {
    ERR_clear_error();
    return step_of(SSL_write(tls_.get(), bytes.data(), limited(bytes.size())), "send");
  }

  void end_writing() override {
    ERR_clear_error();
    SSL_shutdown(tls_.get());  // sends the closing alert without waiting for the other side's
    ::shutdown(socket_.get(), SHUT_WR);
  }

  [[nodiscard]] int descriptor() const override { return socket_.get(); }
  [[nodiscard]] bool holds_bytes() const override { return SSL_has_pending(tls_.get()) == 1; }
  [[nodiscard]] bool is_bare() const override { return false; }
  UniqueFd release() override { return std::move(socket_); }

  [[nodiscard]] std::string certificate_name() const override {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        SSL_get1_peer_certificate(tls_.get()), X509_free);
    if (!certificate || SSL_get_verify_result(tls_.get()) != X509_V_OK) return {};
    std::array<char, 256> name{};
    const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()),
                                                 ::OBJ_sn2nid("CN"), name.data(), name.size());
    return length > 0 ? std::string(name.data(), static_cast<std::size_t>(length)) : "";
  }

  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> certificate_end()
      const override {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        SSL_get1_peer_certificate(tls_.get()), X509_free);
    return certificate ? end_of(*certificate) : std::nullopt;
  }

 private:
  Result<Step> step_of(int answer, const char* what) {
    if (answer > 0) return Step{Progress::Moved, static_cast<std::size_t>(answer)};
    switch (SSL_get_error(tls_.get(), answer)) {
      case SSL_ERROR_WANT_READ:
        return Step{Progress::WantsRead, 0};
      case SSL_ERROR_WANT_WRITE:
        return Step{Progress::WantsWrite, 0};
      case SSL_ERROR_ZERO_RETURN:
        return Step{Progress::End, 0};
      default:
        return tls_failure(ErrorCode::Unavailable, what);
    }
  }

  UniqueFd socket_;
  Tls tls_;
};

}  // namespace

std::optional<std::chrono::system_clock::time_point> certificate_end_of(std::string_view pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bytes(
      BIO_new_mem_buf(pem.data(), limited(pem.size())), BIO_free);
  if (!bytes) return std::nullopt;
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr), X509_free);
  ERR_clear_error();
  return certificate ? end_of(*certificate) : std::nullopt;
}

void FreeTlsContext::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}
void FreeTls::operator()(SSL* tls) const {
  SSL_free(tls);
}

Failure tls_failure(ErrorCode code, const std::string& what) {
  // A system call that failed is the first error; those after it only say "system lib".
  const unsigned long first = ERR_peek_error();
  const unsigned long last = ERR_peek_last_error();
  const char* reason = nullptr;
  if (ERR_SYSTEM_ERROR(first)) {
    reason = ::strerrordesc_np(ERR_GET_REASON(first));
  } else if (last != 0) {
    reason = ERR_reason_error_string(last);
  }
  ERR_clear_error();
  return failure(code, fmt::format("TLS: {}: {}", what,
                                   reason == nullptr ? "the connection was cut" : reason));
}

Result<std::unique_ptr<Transport>> make_tls_transport(Tls tls, UniqueFd socket) {
  if (!tls) return tls_failure(ErrorCode::ResourceExhausted, "begin");
  BIO* bio = BIO_new(socket_method());
  if (bio == nullptr) return tls_failure(ErrorCode::ResourceExhausted, "begin");
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the BIO stores only a descriptor
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket.get())));
  SSL_set_bio(tls.get(), bio, bio);
  // A repeated write may use another buffer.
  SSL_set_mode(tls.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return std::make_unique<TlsTransport>(std::move(tls), std::move(socket));
}

}  // namespace nutshell::http
