#include "http/tls/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "http/client.h"
#include "http/server.h"

namespace nutshell::http {
namespace {

using namespace std::chrono_literals;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

// A key with a certificate that is self-signed, or signed by `signer`. It is valid for an hour that
// starts `begin` seconds from now.
struct Identity {
  explicit Identity(const std::string& name, const Identity* signer = nullptr, long begin = -60) {
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), begin);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), begin + 3600);
    X509_set_pubkey(certificate.get(), key.get());
    X509_NAME* subject = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    const Identity& by = signer == nullptr ? *this : *signer;
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(by.certificate.get()));
    extend(NID_basic_constraints, signer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
    extend(NID_subject_alt_name, "IP:127.0.0.1");
    X509_sign(certificate.get(), by.key.get(), EVP_sha256());
  }

  void extend(int kind, const char* value) const {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
    X509_add_ext(certificate.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }

  // Writes NAME.pem and NAME.key.
  void save(const std::filesystem::path& place) const {
    FILE* file = std::fopen((place.native() + ".pem").c_str(), "w");
    PEM_write_X509(file, certificate.get());
    std::fclose(file);
    file = std::fopen((place.native() + ".key").c_str(), "w");
    PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
  }

  Key key{EVP_EC_gen("P-256"), EVP_PKEY_free};
  Certificate certificate{X509_new(), X509_free};
};

class TlsTest : public testing::Test {
 protected:
  TlsTest() {
    const Identity authority("authority");
    authority.save(scratch_ / "authority");
    Identity("server", &authority).save(scratch_ / "server");
    Identity("late", &authority, -7200).save(scratch_ / "late");
    Identity("alice", &authority).save(scratch_ / "alice");
    Identity("brief", &authority, 3 - 3600).save(scratch_ / "brief");  // expires in three seconds
    Identity("mallory").save(scratch_ / "mallory");
  }

  void start(const std::string& name, const std::string& client_authority,
             const ServerLimits& limits = {}) {
    auto make = tls_server({scratch_ / (name + ".pem"), scratch_ / (name + ".key"),
                            client_authority.empty() ? "" : scratch_ / client_authority});
    ASSERT_TRUE(make) << make.error().message;
    auto listener = listen_on_tcp("127.0.0.1", 0);
    ASSERT_TRUE(listener) << listener.error().message;
    port_ = *port_of(listener->get());
    std::vector<Endpoint> endpoints;
    endpoints.push_back({std::move(*listener), *make});
    auto server = Server::start(
        std::move(endpoints),
        [](Exchange& exchange) {
          pollfd gone{exchange.hang_up_descriptor(), POLLIN, 0};
          if (exchange.target().path == "/wait") ::poll(&gone, 1, 20'000);
          const auto body = exchange.read_body(4U << 20U);
          (void)exchange.respond(200, {}, exchange.remote().certificate_name + body.value_or(""));
        },
        limits);
    ASSERT_TRUE(server);
    server_ = std::move(*server);
  }

  Result<Client> client(const std::string& authority, const std::string& name = "") {
    TlsClientFiles files{"127.0.0.1", scratch_ / authority, {}, {}};
    if (!name.empty()) {
      files.certificate = scratch_ / (name + ".pem");
      files.key = scratch_ / (name + ".key");
    }
    return Client({.dial = dial_tcp("127.0.0.1", port_), .make_transport = TRY(tls_client(files))});
  }

  ScratchDirectory scratch_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Server> server_;
};

TEST_F(TlsTest, CarriesRequests) {
  start("server", "");
  auto one = client("authority.pem");
  ASSERT_TRUE(one) << one.error().message;
  const std::string body(3U << 20U, 'x');
  for (int i = 0; i < 3; ++i) {
    auto answer = one->send({.method = "POST", .body = body}, Deadline::in(10s));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, body);
  }
}

TEST_F(TlsTest, AClientTrustsOnlyItsAuthorityAndTheRightTime) {
  start("server", "");
  const auto distrusted = client("mallory.pem")->send({}, Deadline::in(5s));
  ASSERT_FALSE(distrusted);
  EXPECT_EQ(distrusted.error().code, ErrorCode::Unauthenticated);
  start("late", "");
  EXPECT_FALSE(client("authority.pem")->send({}, Deadline::in(5s)));
}

TEST_F(TlsTest, AServerKnowsItsClientsByTheirCertificate) {
  start("server", "authority.pem");
  auto answer = client("authority.pem", "alice")->send({}, Deadline::in(5s));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "alice");
  EXPECT_FALSE(client("authority.pem")->send({}, Deadline::in(5s)));
  EXPECT_FALSE(client("authority.pem", "mallory")->send({}, Deadline::in(5s)));
}

TEST_F(TlsTest, TakesCertificatesFromMemory) {
  start("server", "authority.pem");
  const auto text = [&](const std::string& name) { return read_file(scratch_ / name).value(); };
  const TlsClientTexts alice{"127.0.0.1", text("mallory.pem") + text("authority.pem"),
                             text("alice.pem"), text("alice.key")};
  auto make = tls_client_of(alice);
  ASSERT_TRUE(make) << make.error().message;
  auto answer = Client({.dial = dial_tcp("127.0.0.1", port_), .make_transport = *make})
                    .send({}, Deadline::in(5s));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "alice");
  TlsClientTexts other = alice;
  other.authority = text("mallory.pem");
  Client stranger({.dial = dial_tcp("127.0.0.1", port_), .make_transport = *tls_client_of(other)});
  EXPECT_FALSE(stranger.send({}, Deadline::in(5s)));
  other = alice;
  other.key = text("mallory.key");
  EXPECT_FALSE(tls_client_of(other));
  other.key = "no key";
  EXPECT_FALSE(tls_client_of(other));
  other = alice;
  other.authority = "no authority";
  EXPECT_FALSE(tls_client_of(other));
}

TEST_F(TlsTest, ACertificateThatExpiresEndsWhatItOpened) {
  start("server", "authority.pem");
  const auto begin = Clock::now();
  EXPECT_FALSE(client("authority.pem", "brief")->send({.target = "/wait"}, Deadline::in(15s)));
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST_F(TlsTest, HandshakesThatNeverEndKeepNobodyOut) {
  ServerLimits limits;
  limits.connections = 20;
  limits.connections_of_stranger = 10;
  limits.admit = [](const RequestHead&, const Remote& remote) {
    return Admission{CallerKind::Tenant, remote.certificate_name, remote.certificate_name};
  };
  start("server", "authority.pem", limits);
  std::vector<UniqueFd> mute;
  for (int i = 0; i < 60; ++i) {
    auto socket = dial_tcp("127.0.0.1", port_)(Deadline::in(5s));
    ASSERT_TRUE(socket) << socket.error().message;
    mute.push_back(std::move(*socket));
  }
  auto answer = client("authority.pem", "alice")->send({}, Deadline::in(5s));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "alice");
  EXPECT_LE(server_->figures().connections, 11U);
}

TEST_F(TlsTest, PlainBytesAreNoHandshake) {
  start("server", "");
  Client plain({.dial = dial_tcp("127.0.0.1", port_)});
  EXPECT_FALSE(plain.send({}, Deadline::in(5s)));
}

TEST_F(TlsTest, FilesThatDoNotFitAreRefusedAtTheStart) {
  EXPECT_FALSE(tls_server({scratch_ / "server.pem", scratch_ / "alice.key", ""}));
  EXPECT_FALSE(tls_server({scratch_ / "nothing.pem", scratch_ / "alice.key", ""}));
  EXPECT_FALSE(tls_client({"", "", "", ""}));
}

TEST_F(TlsTest, AMissingFileIsSaidToBeMissing) {
  const std::string nothing = scratch_ / "nothing.pem";
  const auto no_authority = tls_client({"localhost", nothing, "", ""});
  ASSERT_FALSE(no_authority);
  EXPECT_EQ(no_authority.error().message,
            "TLS: load authority " + nothing + ": No such file or directory");
  const auto no_certificate = tls_server({nothing, scratch_ / "alice.key", ""});
  ASSERT_FALSE(no_certificate);
  EXPECT_EQ(no_certificate.error().message, "TLS: load " + nothing + ": No such file or directory");
}

}  // namespace
}  // namespace nutshell::http
