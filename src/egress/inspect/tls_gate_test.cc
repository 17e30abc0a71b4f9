#include <openssl/ssl.h>

#include "egress/inspect/tls_gate_fixture.h"

namespace nutshell::egress {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kGet = "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n";

TEST_F(TlsGateTest, ReadsAndJudgesRequests) {
  start_tls_mirror();
  EXPECT_THAT(tls_answer_to(kGet), HasSubstr("\r\n\r\nGET /x HTTP/1.1\r\nHost: a.test\r\n"));
  EXPECT_THAT(tls_answer_to("GET /refused HTTP/1.1\r\nHost: a.test\r\n\r\n"),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(guard_.asked,
              testing::ElementsAre("GET https://a.test/x", "GET https://a.test/refused"));
}

TEST_F(TlsGateTest, ConnectsOnlyWhenARequestIsAllowed) {
  start_tls_mirror();
  EXPECT_TRUE(connect_tls());
  end_sandbox();
  EXPECT_EQ(guard_.connections, 0);
}

TEST_F(TlsGateTest, RefusesAHostThatIsNotTheServerOfTheConnection) {
  start_tls_mirror();
  guard_.places["b.test"] = server_->port();
  EXPECT_THAT(tls_answer_to("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n"), StartsWith("HTTP/1.1 421"));
  EXPECT_THAT(tls_answer_to("GET / HTTP/1.1\r\nHost: a.test:444\r\n\r\n"),
              StartsWith("HTTP/1.1 421"));
  EXPECT_EQ(guard_.connections, 0);
}

TEST_F(TlsGateTest, RefusesAClientThatAsksForAnotherServer) {
  start_tls_mirror();
  EXPECT_FALSE(connect_tls("a.test", "b.test"));
  end_sandbox();
  EXPECT_EQ(guard_.connections, 0);
}

TEST_F(TlsGateTest, ServesAddresses) {
  start_tls_server(
      [](http::Transport& transport) {
        (void)read_text(transport, "\r\n\r\n");
        send_text(transport, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      },
      "127.0.0.1");
  guard_.places["127.0.0.1"] = server_->port();
  auto transport = connect_tls("127.0.0.1", "127.0.0.1");
  ASSERT_TRUE(transport) << transport.error().message;
  send_text(**transport, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_THAT(read_text(**transport, "ok"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(TlsGateTest, RefusesServersThatTheHostDoesNotTrust) {
  start_tls_mirror();
  trust_ = *ServerTrust::create(authority_.certificate());
  EXPECT_THAT(tls_answer_to(kGet),
              HasSubstr("nutshell: The certificate of a.test is not trusted on "
                        "the host: unable to get local issuer certificate."));
}

TEST_F(TlsGateTest, RefusesCertificatesOfAnotherName) {
  start_tls_server([](http::Transport& transport) { (void)read_text(transport); }, "b.test");
  EXPECT_THAT(tls_answer_to(kGet), StartsWith("HTTP/1.1 502"));
}

TEST_F(TlsGateTest, ClientsThatDoNotTrustTheAuthorityAreTold) {
  start_tls_mirror();
  sandbox_trust_ = *ServerTrust::create(internet_.certificate());
  EXPECT_FALSE(connect_tls());
  end_sandbox();
  EXPECT_THAT(guard_.refusals, testing::ElementsAre(HasSubstr("unknown ca")));
}

TEST_F(TlsGateTest, HandshakesEndInTime) {
  settings_.times.head = 300ms;
  const int mute = connect_through(
      [this](UniqueFd socket) { serve_tls(std::move(socket), "a.test", 443, guard_, settings_); });
  EXPECT_EQ(read_text(mute), "");
}

TEST_F(TlsGateTest, ClientsWithOnlyHttp2AreRefused) {
  const int socket = connect_through(
      [this](UniqueFd client) { serve_tls(std::move(client), "a.test", 443, guard_, settings_); });
  auto context = http::new_tls_context(http::TlsSide::Client);
  ASSERT_TRUE(context);
  constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context->get(), kHttp2.data(), kHttp2.size());
  http::Tls tls(SSL_new(context->get()));
  SSL_set_fd(tls.get(), socket);
  EXPECT_NE(SSL_connect(tls.get()), 1);
  end_sandbox();
  EXPECT_EQ(guard_.refusals.size(), 1U);
}

TEST(Authority, GoesOnWithWhatItWas) {
  const auto first = Authority::create();
  ASSERT_TRUE(first) << first.error().message;
  const auto again = Authority::from_pem(*first->to_pem());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(first->certificate(), again->certificate());
  EXPECT_NE(first->certificate(), Authority::create()->certificate());
  EXPECT_THAT(first->certificate(), testing::Not(HasSubstr("KEY")));
  EXPECT_FALSE(Authority::from_pem(first->certificate()));
}

TEST(ServerTrust, RefusesWhatIsNoList) {
  EXPECT_FALSE(ServerTrust::create(""));
  EXPECT_FALSE(
      ServerTrust::create("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"));
}

}  // namespace
}  // namespace nutshell::egress
