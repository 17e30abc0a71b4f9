#include "server/http/gate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/sha256.h"
#include "http/server_fixture.h"

namespace nutshell::server {
namespace {

using namespace std::chrono_literals;

// The gate behind a real server: answers the caller's tenant, or the status of the refusal.
class GateTest : public http::ServerTest {
 protected:
  void begin(std::uint32_t user) {
    GateRules rules;
    rules.tokens = {{"ci", "team-a", sha256_hex("right")}};
    rules.origins = {"https://ours.example"};
    rules.user = user;
    gate_ = std::make_unique<Gate>(rules);
    start([this](http::Exchange& exchange) {
      const auto caller = gate_->admit(exchange);
      (void)exchange.respond(
          200, {},
          caller
              ? caller->tenant + (caller->host_files == service::HostFiles::Allowed ? "+files" : "")
              : std::to_string(forms_of(caller.error().code).http_status));
    });
  }

  std::string admitted(const http::Headers& headers) {
    auto answer = client().send({.headers = headers}, Deadline::in(5s));
    return answer ? answer->body : answer.error().message;
  }

  std::unique_ptr<Gate> gate_;
};

TEST_F(GateTest, KnowsTheUserOfTheSocket) {
  begin(::geteuid());
  EXPECT_EQ(admitted({}), "local+files");
  EXPECT_EQ(admitted({{"Origin", "https://evil.example"}}), "403");
  EXPECT_EQ(admitted({{"Origin", "https://ours.example"}}), "local+files");
}

TEST_F(GateTest, PagesOfThisMachineMayCall) {
  begin(::geteuid());
  for (const char* ours :
       {"http://localhost:5173", "https://localhost", "http://127.0.0.1:80", "http://[::1]:3000"})
    EXPECT_EQ(admitted({{"Origin", ours}}), "local+files") << ours;
  for (const char* other : {"null", "http://localhost.evil.example", "http://localhost:80.evil",
                            "http://evil.example:80", "file://localhost", "localhost"})
    EXPECT_EQ(admitted({{"Origin", other}}), "403") << other;
}

TEST_F(GateTest, AnotherUserNeedsAToken) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may always use the socket";
  begin(::geteuid() + 1);
  EXPECT_EQ(admitted({}), "401");
}

TEST_F(GateTest, ATokenIsItsTenantAndNothingElse) {
  begin(::geteuid());
  EXPECT_EQ(admitted({{"Authorization", "Bearer right"}}), "team-a");
  EXPECT_EQ(admitted({{"Authorization", "bearer right"}}), "team-a");
  for (const char* wrong : {"Bearer wrong", "Bearer Right", "Bearer  right", "Bearer right ",
                            "Basic right", "right", "Bearer", "Bearer "}) {
    const std::string answer = admitted({{"Authorization", wrong}});
    // Space around a header's value is not a part of it.
    EXPECT_EQ(answer, std::string_view(wrong) == "Bearer right " ? "team-a" : "401") << wrong;
  }
}

TEST_F(GateTest, GuessingIsStoppedAndARightTokenPassesAllTheSame) {
  begin(::geteuid());
  for (std::size_t i = 0; i < Gate::kMostFailures; ++i)
    EXPECT_EQ(admitted({{"Authorization", "Bearer guess"}}), "401");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(admitted({{"Authorization", "Bearer guess"}}), "429");
    EXPECT_EQ(admitted({{"Authorization", "Bearer right"}}), "team-a");
  }
}

TEST(CallerKind, IsProvedByTheHeadAlone) {
  GateRules rules;
  rules.tokens = {{"ci", "team-a", sha256_hex("right")}, {"root", "local", sha256_hex("other")}};
  rules.certificates = {{"robot", "machines"}};
  rules.user = 1000;
  Gate gate(rules);
  http::Remote socket;
  socket.process = Peer{1000, 1000, 7};
  http::Remote address;
  address.address = "10.0.0.1:4711";
  const std::string right = "Bearer right";
  const std::string local = "Bearer other";
  const std::string wrong = "Bearer wrong";
  using http::CallerKind;
  EXPECT_EQ(gate.admission_of(socket, nullptr).caller_kind, CallerKind::Owner);
  EXPECT_EQ(gate.admission_of(socket, &right).caller_kind, CallerKind::Tenant);
  EXPECT_EQ(gate.admission_of(address, &right).holder, "tenant team-a");
  EXPECT_NE(gate.admission_of(address, &local).holder, gate.admission_of(socket, nullptr).holder);
  EXPECT_EQ(gate.admission_of(address, nullptr).caller_kind, CallerKind::Stranger);
  EXPECT_EQ(gate.admission_of(address, &wrong).caller_kind, CallerKind::Stranger);
  EXPECT_EQ(gate.admission_of(socket, &wrong).caller_kind, CallerKind::Stranger);
  // A certificate lets in until its end, also on a connection that stands longer.
  address.certificate_name = "robot";
  address.certificate_end = std::chrono::system_clock::now() + 1h;
  EXPECT_EQ(gate.admission_of(address, nullptr).holder, "tenant machines");
  address.certificate_end = std::chrono::system_clock::now() - 1s;
  EXPECT_EQ(gate.admission_of(address, nullptr).caller_kind, CallerKind::Stranger);
  EXPECT_EQ(gate.admit(address, nullptr).error().code, ErrorCode::Unauthenticated);
}

TEST(HostHeader, IsWholeOrNone) {
  for (const auto& [header, host] :
       std::vector<std::pair<const char*, const char*>>{{"localhost", "localhost"},
                                                        {"localhost:80", "localhost"},
                                                        {"127.0.0.1:7070", "127.0.0.1"},
                                                        {"[::1]", "::1"},
                                                        {"[::1]:7070", "::1"},
                                                        {"evil.com:80", "evil.com"},
                                                        {"[::1].evil.com", ""},
                                                        {"[::1]evil.com:80", ""},
                                                        {"[::1]:80.evil.com", ""},
                                                        {"[::1]:", ""},
                                                        {"[::1", ""},
                                                        {"[evil.com]", ""},
                                                        {"[127.0.0.1]", ""},
                                                        {"127.0.0.1:80.evil.com", ""},
                                                        {"localhost:evil.com", ""},
                                                        {"localhost:80:90", ""},
                                                        {"localhost:123456", ""}}) {
    EXPECT_EQ(host_of(header), host) << header;
  }
}

TEST(ConstantTime, TellsEqualFromOther) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
  EXPECT_FALSE(equal_in_constant_time("", "a"));
}

}  // namespace
}  // namespace nutshell::server
