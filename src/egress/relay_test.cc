#include "egress/relay.h"

#include <gmock/gmock.h>

#include "egress/relay_fixture.h"

namespace nutshell::egress {
namespace {

using testing::HasSubstr;

constexpr const char* kPublic = "151.101.0.223";

NetworkPolicy allowing(std::vector<std::string> rules) {
  NetworkPolicy policy;
  policy.allow = std::move(rules);
  return policy;
}

std::string rule_for(const LoopbackServer& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

// A ClientHello that names this server.
std::string hello_for(const std::string& name) {
  const auto number = [](std::size_t value, int width) {
    std::string bytes;
    for (int index = width; index-- > 0;)
      bytes += static_cast<char>(value >> (8 * index));
    return bytes;
  };
  const auto field = [&](const std::string& content, int width) {
    return number(content.size(), width) + content;
  };
  const std::string names = number(0, 2) + field(field(number(0, 1) + field(name, 2), 2), 2);
  const std::string body = number(0x0303, 2) + std::string(32, 'r') + field("", 1) +
                           field("\x13\x01", 2) + field(std::string(1, '\0'), 1) + field(names, 2);
  return "\x16\x03\x01" + field(number(1, 1) + field(body, 3), 2);
}

TEST(Relay, CarriesAFlowInFrames) {
  const LoopbackServer server;
  RunningRelay run(allowing({rule_for(server)}));
  run.init.send(wire::EgressOpened{});
  const auto opened = run.open(1, "127.0.0.1", server.port());
  ASSERT_EQ(opened.error_number, 0) << opened.reason;
  const UniqueFd accepted = server.accept();
  run.init.send(wire::FlowData{1, "request"});
  EXPECT_EQ(read_bytes(accepted.get(), 7), "request");
  ASSERT_TRUE(write_all(accepted.get(), "answer"));
  EXPECT_EQ(run.init.receive<wire::FlowData>().bytes, "answer");
  run.init.send(wire::FlowEnd{1});
  EXPECT_EQ(read_bytes(accepted.get(), 1), "");
  ::shutdown(accepted.get(), SHUT_WR);
  EXPECT_EQ(run.init.receive<wire::FlowEnd>().flow, 1U);
  EXPECT_EQ(run.open(1, "127.0.0.1", server.port()).error_number, 0) << "the number is free again";
}

TEST(Relay, KeepsTheWindowsOfFrames) {
  const LoopbackServer server;
  RunningRelay run(allowing({rule_for(server)}));
  run.init.send(wire::EgressOpened{});
  ASSERT_EQ(run.open(1, "127.0.0.1", server.port()).error_number, 0);
  const UniqueFd accepted = server.accept();
  const std::string much(8U << 20U, 'x');
  std::thread writer([&] { EXPECT_TRUE(write_all(accepted.get(), much)); });
  std::size_t received = 0;
  while (received < wire::kFlowWindow)
    received += run.init.receive<wire::FlowData>().bytes.size();
  EXPECT_EQ(received, wire::kFlowWindow);
  while (received < much.size()) {
    run.init.send(wire::FlowConsumed{1, received});
    received += run.init.receive<wire::FlowData>().bytes.size();
  }
  writer.join();
  EXPECT_EQ(received, much.size());
}

TEST(Relay, CarriesASocketThatComesThroughTheDoor) {
  const LoopbackServer server;
  const LoopbackServer inside;
  RunningRelay run(allowing({rule_for(server)}));
  auto door = make_socket_pair(SocketKind::Packets);
  ASSERT_TRUE(door);
  run.init.send_with(wire::EgressOpened{.has_door = 1}, door->second.get());
  run.init.receive<wire::DoorTaken>();
  ASSERT_EQ(run.open(5, "127.0.0.1", server.port()).error_number, 0);
  const UniqueFd command = connect_to_loopback(inside.port());
  const UniqueFd of_init = inside.accept();
  const std::uint32_t number = 5;
  ASSERT_TRUE(send_packet(
      door->first.get(), {reinterpret_cast<const char*>(&number), sizeof number}, {of_init.get()}));
  const UniqueFd accepted = server.accept();
  const std::string much(3U << 20U, 'x');
  std::thread writer([&] {
    EXPECT_TRUE(write_all(command.get(), much));
    ::shutdown(command.get(), SHUT_WR);
  });
  EXPECT_EQ(read_bytes(accepted.get(), much.size() + 1).size(), much.size());
  writer.join();
  ASSERT_TRUE(write_all(accepted.get(), "bye"));
  ::shutdown(accepted.get(), SHUT_WR);
  EXPECT_EQ(read_bytes(command.get(), 4), "bye");
  EXPECT_EQ(run.init.receive<wire::FlowEnd>().flow, 5U);
  const auto events = run.relay->events(0);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].kind, NetworkEventKind::Closed);
  EXPECT_EQ(events[1].sent_bytes, much.size());
  EXPECT_EQ(events[1].received_bytes, 3U);
}

TEST(Relay, RefusesWhatNoRuleHas) {
  const LoopbackServer server;
  RunningRelay run(allowing({"pypi", "10.0.0.0/8:9"}));
  run.init.send(wire::EgressOpened{});
  const auto refused = run.open(1, kPublic, server.port());
  EXPECT_EQ(refused.error_number, ECONNREFUSED);
  EXPECT_EQ(refused.is_refusal, 1);
  EXPECT_THAT(refused.reason, HasSubstr("is not allowed; allowed are pypi, 10.0.0.0/8:9"));
  const auto silent = run.open(2, "127.0.0.1", server.port());
  EXPECT_EQ(silent.error_number, ECONNREFUSED);
  EXPECT_EQ(silent.is_refusal, 0);
  EXPECT_TRUE(server.is_left_alone());
  EXPECT_EQ(run.relay->status().refused, 1U);
  EXPECT_EQ(run.relay->events(0).front().rule, fmt::format("{}:{}", kPublic, server.port()));
}

TEST(Relay, ResolvesAllowedNamesOnly) {
  RunningRelay run(allowing({"a.example", "*.b.example", "inner.example"}));
  run.plan.names = {{"a.example", {kPublic, "2606:4700::1"}},
                    {"inner.example", {"10.0.0.1", "169.254.169.254", "127.0.0.1"}},
                    {"mixed.b.example", {"10.0.0.1", kPublic}},
                    {"evil.example", {kPublic}}};
  const auto found = run.look_up("A.Example");
  EXPECT_EQ(found.resolution, wire::Resolution::Found);
  EXPECT_EQ(found.addresses, std::vector<std::string>{std::string("\x97\x65\0\xdf", 4)});
  EXPECT_EQ(run.look_up("mixed.b.example").addresses.size(), 1U);
  EXPECT_EQ(run.look_up("none.b.example").resolution, wire::Resolution::NoSuchName);
  EXPECT_EQ(run.plan.look_ups, 3);
  for (const auto& name :
       {std::string("evil.example"), std::string("b.example"), std::string("data.a.example"),
        std::string("a.example\0.b", 12), std::string("127.1"), std::string()}) {
    const auto refused = run.look_up(name);
    EXPECT_EQ(refused.resolution, wire::Resolution::NotAllowed) << name;
    EXPECT_FALSE(refused.reason.empty());
  }
  EXPECT_EQ(run.plan.look_ups, 3) << "nothing of a name that is not allowed leaves the host";
  const auto inner = run.look_up("inner.example");
  EXPECT_EQ(inner.resolution, wire::Resolution::NotAllowed);
  EXPECT_THAT(inner.reason, HasSubstr("address"));
}

class NamedRelay : public testing::Test {
 protected:
  explicit NamedRelay(std::vector<std::string> rules = {"a.example", "b.example", "c.example:22"})
      : run_(allowing(std::move(rules))) {
    run_.plan.names = {
        {"a.example", {kPublic}}, {"b.example", {"151.101.0.224"}}, {"c.example", {kPublic}}};
    run_.plan.ports = {{443, server_.port()}, {80, server_.port()}, {22, server_.port()}};
    run_.init.send(wire::EgressOpened{});
  }

  LoopbackServer server_;
  RunningRelay run_;
};

TEST_F(NamedRelay, AllowsAnAddressBecauseOfTheNameThatLedThere) {
  EXPECT_EQ(run_.open(1, kPublic, 443).is_refusal, 1) << "before the look-up";
  run_.look_up("a.example");
  EXPECT_EQ(run_.open(2, kPublic, 443).error_number, 0);
  EXPECT_EQ(run_.open(3, kPublic, 8443).is_refusal, 1);
  EXPECT_EQ(run_.open(4, "151.101.0.224", 443).is_refusal, 1);
}

TEST_F(NamedRelay, CarriesTlsThatNamesTheServer) {
  run_.look_up("a.example");
  ASSERT_EQ(run_.open(1, kPublic, 443).error_number, 0);
  const UniqueFd accepted = server_.accept();
  const std::string hello = hello_for("A.example");
  run_.init.send(wire::FlowData{1, hello.substr(0, 20)});
  EXPECT_FALSE(wait_for(accepted.get(), POLLIN, Deadline::in(50ms)).value_or(true));
  run_.init.send(wire::FlowData{1, hello.substr(20)});
  EXPECT_EQ(read_bytes(accepted.get(), hello.size()), hello);
}

TEST_F(NamedRelay, ResetsTlsThatNamesAnother) {
  run_.look_up("a.example");
  run_.look_up("b.example");
  std::uint32_t flow = 0;
  for (const std::string& first :
       {hello_for("evil.example"), hello_for("b.example"), hello_for("a.example.evil.com"),
        hello_for(std::string("a.example\0.b", 12)), std::string("SSH-2.0-x\r\n")}) {
    ASSERT_EQ(run_.open(++flow, kPublic, 443).error_number, 0);
    const UniqueFd accepted = server_.accept();
    run_.init.send(wire::FlowData{flow, first});
    const auto reset = run_.init.receive<wire::FlowReset>();
    EXPECT_EQ(reset.is_refusal, 1);
    EXPECT_THAT(reset.reason, HasSubstr("a.example:443"));
    EXPECT_EQ(read_bytes(accepted.get(), 1), "") << "not a byte gets out";
  }
}

TEST_F(NamedRelay, LetsAServerSpeakFirstOnAPortThatARuleNames) {
  run_.look_up("c.example");
  ASSERT_EQ(run_.open(1, kPublic, 22).error_number, 0);
  const UniqueFd accepted = server_.accept();
  ASSERT_TRUE(write_all(accepted.get(), "SSH-2.0-server\r\n"));
  EXPECT_EQ(run_.init.receive<wire::FlowData>().bytes, "SSH-2.0-server\r\n");
  run_.init.send(wire::FlowData{1, "SSH-2.0-client\r\n"});
  EXPECT_EQ(read_bytes(accepted.get(), 16), "SSH-2.0-client\r\n");
}

TEST_F(NamedRelay, ChecksEveryRequestOfHttp) {
  run_.look_up("a.example");
  ASSERT_EQ(run_.open(1, kPublic, 80).error_number, 0);
  run_.init.send(wire::FlowData{1, "GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n"});
  const UniqueFd accepted = server_.accept();
  EXPECT_TRUE(read_bytes(accepted.get(), 15).starts_with("GET /x HTTP/1.1"));
  ASSERT_TRUE(write_all(accepted.get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  std::string answer;
  while (!answer.ends_with("ok"))
    answer += run_.init.receive<wire::FlowData>().bytes;
  run_.init.send(wire::FlowData{1, "GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n"});
  const auto refusal = run_.init.receive<wire::FlowReset>();
  EXPECT_EQ(refusal.flow, 0U) << "the connection stays";
  EXPECT_EQ(refusal.is_refusal, 1);
  EXPECT_THAT(run_.init.receive<wire::FlowData>().bytes, HasSubstr("HTTP/1.1 4"));
  EXPECT_EQ(run_.relay->status().refused, 1U);
}

TEST_F(NamedRelay, EndsWhatANewPolicyDoesNotAllow) {
  run_.look_up("a.example");
  run_.look_up("c.example");
  ASSERT_EQ(run_.open(1, kPublic, 443).error_number, 0);
  ASSERT_EQ(run_.open(2, kPublic, 22).error_number, 0);
  EXPECT_EQ(run_.relay->status().open_connections, 2U);
  ASSERT_TRUE(run_.relay->set_policy(allowing({"c.example:22"})));
  const auto reset = run_.init.receive<wire::FlowReset>();
  EXPECT_EQ(reset.flow, 1U);
  EXPECT_THAT(reset.reason, HasSubstr("policy was changed"));
  EXPECT_EQ(run_.open(3, kPublic, 443).is_refusal, 1);
  EXPECT_EQ(run_.open(4, kPublic, 22).error_number, 0);
  EXPECT_FALSE(run_.relay->set_policy(allowing({"*"})));
}

TEST(Relay, BoundsConnectionsAndBytes) {
  const LoopbackServer server;
  NetworkPolicy policy = allowing({rule_for(server)});
  policy.most_connections = 2;
  policy.most_bytes = 1;
  RunningRelay run(policy);
  run.init.send(wire::EgressOpened{});
  EXPECT_EQ(run.open(1, "127.0.0.1", server.port()).error_number, 0);
  EXPECT_EQ(run.open(2, "127.0.0.1", server.port()).error_number, 0);
  const auto refused = run.open(3, "127.0.0.1", server.port());
  EXPECT_EQ(refused.is_refusal, 1);
  EXPECT_THAT(refused.reason, HasSubstr("2 connections"));
  const UniqueFd accepted = server.accept();
  ASSERT_TRUE(write_all(accepted.get(), "some bytes"));
  const auto reset = run.init.receive<wire::FlowReset>();
  EXPECT_EQ(reset.is_refusal, 1);
  EXPECT_THAT(reset.reason, HasSubstr("bytes"));
}

TEST(Relay, EndsWithItsStream) {
  RunningRelay run(allowing({"pypi"}));
  run.init.close();
  EXPECT_TRUE(run.ended());
}

TEST(Relay, EndsWhenInitBreaksTheProtocol) {
  const LoopbackServer server;
  {
    RunningRelay run(allowing({rule_for(server)}));
    run.init.send(wire::FlowData{9, "of no flow"});  // it may be over here, so init cannot know
    run.init.send(wire::Done{});
    EXPECT_FALSE(run.ended());
  }
  {
    RunningRelay run(allowing({rule_for(server)}));
    run.init.send(wire::EgressOpened{});
    ASSERT_EQ(run.open(1, "127.0.0.1", server.port()).error_number, 0);
    run.init.send(wire::OpenFlow{1, std::string("\x7f\0\0\1", 4), {}, server.port()});
    EXPECT_FALSE(run.ended());
  }
  {
    RunningRelay run(allowing({rule_for(server)}));
    run.init.send(wire::EgressOpened{});
    ASSERT_EQ(run.open(1, "127.0.0.1", server.port()).error_number, 0);
    run.init.send(wire::FlowConsumed{1, 1});
    EXPECT_FALSE(run.ended());
  }
}

TEST(Relay, TakesConnectionsOnlyThroughTheDoor) {
  const LoopbackServer server;
  RunningRelay run(allowing({rule_for(server)}));
  auto door = make_socket_pair(SocketKind::Packets);
  ASSERT_TRUE(door);
  run.init.send_with(wire::EgressOpened{.has_door = 1}, door->second.get());
  run.init.receive<wire::DoorTaken>();
  ASSERT_EQ(run.open(5, "127.0.0.1", server.port()).error_number, 0);
  const std::uint32_t number = 5;
  auto file = open_file("/dev/null", O_RDWR);
  ASSERT_TRUE(file);
  ASSERT_TRUE(send_packet(door->first.get(),
                          {reinterpret_cast<const char*>(&number), sizeof number}, {file->get()}));
  EXPECT_FALSE(run.ended());
}

TEST(Relay, NamesItsPolicyWithoutSecrets) {
  NetworkPolicy policy = allowing({"a.example"});
  policy.secrets = {{.name = "TOKEN", .value = "hidden", .hosts = {"a.example"}}};
  RunningRelay run(policy);
  EXPECT_EQ(run.relay->status().policy.secrets.front().value, "");
}

}  // namespace
}  // namespace nutshell::egress
