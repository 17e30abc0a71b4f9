// Tests that one client cannot take what the server reserves for each tenant, address and the
// owner.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>

#include <atomic>
#include <thread>

#include "http/server_fixture.h"

namespace nutshell::http {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

// A server on a Unix socket and on TCP. "Authorization: NAME" makes a request that tenant's. A
// request without it is the owner's on the Unix socket and a stranger's on TCP. "/wait" answers
// when the client has gone or the test is over.
class FairShares : public ServerTest {
 protected:
  void begin(ServerLimits limits) {
    limits.admit = [this](const RequestHead& head, const Remote& remote) {
      const std::string name(head.headers.get("Authorization"));
      const bool is_revoked = is_revoked_ && name == "revoked";
      if (!name.empty() && !is_revoked) return Admission{CallerKind::Tenant, name, name};
      if (name.empty() && remote.process) return Admission{CallerKind::Owner, "owner", "owner"};
      return Admission{CallerKind::Stranger, "stranger", ""};
    };
    auto local = listen_on_unix(path_);
    auto remote = listen_on_tcp("127.0.0.1", 0);
    ASSERT_TRUE(local && remote);
    port_ = *port_of(remote->get());
    std::vector<Endpoint> endpoints(2);
    endpoints[0].listener = std::move(*local);
    endpoints[1].listener = std::move(*remote);
    auto server = Server::start(
        std::move(endpoints), [this](Exchange& exchange) { answer(exchange); }, limits);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }

  void TearDown() override {
    is_over_ = true;
    server_.reset();  // its handlers use members that are destroyed next
  }

  void answer(Exchange& exchange) {
    if (exchange.target().path != "/wait") return echo(exchange);
    ++waiting_;
    pollfd gone{exchange.hang_up_descriptor(), POLLIN, 0};
    while (!is_over_ && !exchange.client_is_gone())
      ::poll(&gone, 1, 20);
    --waiting_;
    (void)exchange.respond(200, {}, "");
  }

  [[nodiscard]] UniqueFd connect_tcp() const {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    return socket;
  }

  static std::string request(const std::string& path, const std::string& tenant,
                             const std::string& more = "") {
    const std::string proof = tenant.empty() ? "" : "Authorization: " + tenant + "\r\n";
    return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + proof + more + "\r\n";
  }

  // Returns the answer to "/alive" and closes the connection.
  std::string ask(UniqueFd socket, const std::string& tenant) const {
    EXPECT_TRUE(write_all(socket.get(), request("/alive", tenant, "Connection: close\r\n")));
    return read_to_end(socket.get(), 5s);
  }

  template <typename Condition>
  static bool becomes_true(const Condition& condition) {
    for (int i = 0; i < 500 && !condition(); ++i)
      std::this_thread::sleep_for(10ms);
    return condition();
  }

  // Opens connections whose requests wait in their handler or for a worker.
  std::vector<UniqueFd> open_waits(int count, const std::string& tenant) {
    std::vector<UniqueFd> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(connect_tcp());
      EXPECT_TRUE(write_all(all.back().get(), request("/wait", tenant)));
    }
    return all;
  }

  std::uint16_t port_ = 0;
  std::atomic<bool> is_over_{false};
  std::atomic<int> waiting_{0};
  std::atomic<bool> is_revoked_{false};
};

ServerLimits few_workers() {
  ServerLimits limits;
  limits.workers = 8;
  limits.workers_of_tenant = 3;
  return limits;
}

TEST_F(FairShares, FollowersOfOneTenantLeaveWorkersToAllOthers) {
  begin(few_workers());
  const auto waits = open_waits(40, "greedy");
  ASSERT_TRUE(becomes_true([&] { return waiting_ == 3; }));
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(ask(connect_tcp(), "honest"), HasSubstr("GET /alive"));
    EXPECT_THAT(ask(connect(), ""), HasSubstr("GET /alive"));
  }
  EXPECT_EQ(waiting_, 3);
}

TEST_F(FairShares, EveryTenantAndTheOwnerHaveAWorkerHoweverManyAreGreedy) {
  ServerLimits limits = few_workers();
  limits.workers_of_tenant = 4;
  begin(limits);
  const auto first = open_waits(10, "greedy");
  ASSERT_TRUE(becomes_true([&] { return waiting_ == 4; }));
  const auto second = open_waits(10, "also greedy");
  ASSERT_TRUE(becomes_true([&] { return waiting_ == 8; }));
  EXPECT_THAT(ask(connect_tcp(), "honest"), HasSubstr("GET /alive"));
  EXPECT_THAT(ask(connect(), ""), HasSubstr("GET /alive"));
  EXPECT_THAT(ask(connect_tcp(), ""), HasSubstr("GET /alive"));  // also without a token
}

TEST_F(FairShares, AHangUpFreesItsWorkerAtOnce) {
  begin(few_workers());
  auto waits = open_waits(3, "busy");
  ASSERT_TRUE(becomes_true([&] { return waiting_ == 3; }));
  const UniqueFd next = connect_tcp();
  ASSERT_TRUE(write_all(next.get(), request("/alive", "busy", "Connection: close\r\n")));
  EXPECT_THAT(read_to_end(next.get(), 50ms), HasSubstr("<silence>"));
  waits.clear();
  EXPECT_THAT(read_to_end(next.get(), 2s), HasSubstr("GET /alive"));
}

TEST_F(FairShares, ATenantWithTooManyRequestsIsTold) {
  begin(few_workers());
  const auto waits = open_waits(3 + 256, "greedy");
  ASSERT_TRUE(becomes_true([&] { return waiting_ == 3; }));
  EXPECT_THAT(ask(connect_tcp(), "greedy"), StartsWith("HTTP/1.1 429 "));
  EXPECT_THAT(ask(connect_tcp(), "honest"), HasSubstr("GET /alive"));
}

TEST_F(FairShares, IdleStrangersCloseNoDoor) {
  ServerLimits limits;
  limits.connections = 60;
  limits.connections_of_stranger = 40;
  begin(limits);
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 200; ++i)
    idle.push_back(connect_tcp());
  EXPECT_THAT(ask(connect(), ""), HasSubstr("GET /alive"));
  EXPECT_THAT(ask(connect_tcp(), "honest"), HasSubstr("GET /alive"));
  EXPECT_LE(server_->figures().connections, 41U);
  EXPECT_EQ(read_to_end(idle.front().get(), 1s), "");  // the oldest was closed first
}

TEST_F(FairShares, StrangersThatSendHalfAHeadGoFirstToo) {
  ServerLimits limits;
  limits.connections = 30;
  limits.connections_of_stranger = 30;
  begin(limits);
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(connect_tcp());
    (void)write_all(slow.back().get(), "GET / HTTP/1.1\r\nHo");
    if (i % 10 != 0) continue;
    EXPECT_THAT(ask(connect_tcp(), "honest"), HasSubstr("GET /alive"));
  }
}

TEST_F(FairShares, ATenantsIdleConnectionsGiveWayToItsNewOnes) {
  ServerLimits limits;
  limits.connections = 100;
  limits.connections_of_tenant = 10;
  begin(limits);
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 30; ++i) {
    idle.push_back(connect_tcp());
    ASSERT_TRUE(write_all(idle.back().get(), request("/alive", "greedy")));
    std::array<char, 512> space{};
    ASSERT_GT(::recv(idle.back().get(), space.data(), space.size(), 0), 0);
    ASSERT_THAT(space.data(), StartsWith("HTTP/1.1 200 "));
    ASSERT_TRUE(becomes_true([&] { return server_->figures().busy_workers == 0; }));
  }
  EXPECT_LE(server_->figures().connections, 11U);
  EXPECT_THAT(ask(connect_tcp(), "honest"), HasSubstr("GET /alive"));
  // Connections with a running request are kept, so there is no place for another one.
  idle.clear();
  const auto busy = open_waits(10, "greedy");
  ASSERT_TRUE(becomes_true([&] { return waiting_ == 10; }));
  EXPECT_THAT(ask(connect_tcp(), "greedy"), StartsWith("HTTP/1.1 429 "));
}

TEST_F(FairShares, StrangersBodiesAreNeverRead) {
  begin({});
  for (const std::string body :
       {"Content-Length: 10\r\n", "Content-Length: 16000000\r\n", "Transfer-Encoding: chunked\r\n",
        "Content-Length: 10\r\nExpect: 100-continue\r\n"}) {
    const UniqueFd socket = connect_tcp();
    ASSERT_TRUE(write_all(socket.get(), request("/wait?", "", body)));
    ASSERT_TRUE(becomes_true([&] { return waiting_ == 1; })) << body;
    ::shutdown(socket.get(), SHUT_WR);
    const std::string answer = read_to_end(socket.get(), 2s);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 ")) << body;
    EXPECT_THAT(answer, HasSubstr("Connection: close")) << body;
  }
}

TEST_F(FairShares, BodiesTakeNoMoreMemoryThanTheirTenantMayHave) {
  ServerLimits limits;
  limits.body_bytes = 6U << 20U;
  limits.body_bytes_of_tenant = 2U << 20U;
  begin(limits);
  const std::string head = "PUT /a HTTP/1.1\r\nHost: x\r\nAuthorization: greedy\r\n";
  std::vector<UniqueFd> unfinished;
  std::string refusal;
  for (int i = 0; i < 4 && refusal.empty(); ++i) {  // nearly a MiB each
    unfinished.push_back(connect_tcp());
    const int socket = unfinished.back().get();
    ASSERT_TRUE(write_all(socket, head + "Content-Length: 1000000\r\n\r\n"));
    ASSERT_TRUE(write_all(socket, std::string(990'000, 'x')));
    const std::string answer = read_to_end(socket, 300ms);
    if (answer != "<silence>") refusal = answer;
  }
  EXPECT_THAT(refusal, HasSubstr("memory")) << "all of them were kept";
  EXPECT_EQ(unfinished.size(), 3U);
  EXPECT_THAT(ask(connect_tcp(), "honest"), HasSubstr("GET /alive"));
  // Finished requests give their memory back.
  unfinished.clear();
  EXPECT_TRUE(becomes_true([&] {
    const UniqueFd socket = connect_tcp();
    (void)write_all(socket.get(), head + "Connection: close\r\nContent-Length: 1000000\r\n\r\n" +
                                      std::string(1'000'000, 'x'));
    return read_to_end(socket.get(), 2s).starts_with("HTTP/1.1 200 ");
  }));
}

TEST_F(FairShares, ARevokedTokenEndsWhatItOpened) {
  begin({});
  const auto revoked = open_waits(3, "revoked");
  const auto others = open_waits(2, "honest");
  ASSERT_TRUE(becomes_true([&] { return waiting_ == 5; }));
  server_->admit_again();  // the rules are unchanged
  EXPECT_EQ(waiting_, 5);
  is_revoked_ = true;
  server_->admit_again();
  EXPECT_TRUE(becomes_true([&] { return waiting_ == 2; }));
  for (const UniqueFd& one : revoked)
    EXPECT_EQ(read_to_end(one.get(), 2s), "");
}

TEST(Source, IsTheAddressWithoutItsPort) {
  EXPECT_EQ(source_of_address("10.0.0.1:80"), "10.0.0.1");
  EXPECT_EQ(source_of_address("[2001:db8:1:2:3:4:5:6]:80"), "2001:db8:1:2::/64");
  EXPECT_EQ(source_of_address("[2001:db8:1:2::1]:9"), "2001:db8:1:2::/64");
  EXPECT_EQ(source_of_address("[::1]:80"), "::1");
}

}  // namespace
}  // namespace nutshell::http
