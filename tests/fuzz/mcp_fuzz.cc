// A client that sends any bytes, one message in a line, to a server with a minimal host.
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "entry_points.h"
#include "http/message.h"
#include "server/mcp/http_guard.h"
#include "server/mcp/server.h"

namespace nutshell::fuzz {
namespace {

using namespace mcp;

// Every answer must be JSON on one line, and a request has at most one.
class CheckingChannel : public Channel {
 public:
  void send(std::string_view message) override {
    const bool is_good = message.find('\n') == std::string_view::npos && Json::accept(message);
    if (!is_good) std::abort();
  }
  void respond(std::string_view message, int /*error_code*/) override { send(message); }
};

class FewWords : public Host {
 public:
  [[nodiscard]] Description describe() const override {
    return {"fuzz", "", "0", "", {true, true, true, true, true, true}};
  }
  std::string list(Listing /*listing*/, const Client& /*client*/) override { return "{\"x\":[]}"; }
  Reply call_tool(Call& call, const std::string& name, const Json& given) override {
    const std::string arguments = dump_json(given);
    call.report(1, 2, name);
    call.log(LogLevel::Error, arguments);
    if (call.client().can(name)) return Problem{kMissingCapability, name, "{}"};
    return Answer{"{\"content\":" + arguments + ",\"state\":" + json_string(call.request_state()) +
                  ",\"given\":" + json_string(call.input_responses()) + "}"};
  }
  Reply get_prompt(Call& /*call*/, const std::string& name, const Json& given) override {
    return Answer{"{" + json_string(name) + ":" + dump_json(given) + "}"};
  }
  Reply read_resource(Call& /*call*/, const std::string& uri) override {
    return Problem{kResourceNotFound, uri, json_string(uri)};
  }
  Reply complete(Call& /*call*/, const Json& params) override { return Answer{dump_json(params)}; }
};

}  // namespace

void fuzz_mcp(std::string_view input) {
  FewWords host;
  Server server(host);
  const auto session = std::make_shared<Session>(Client{});
  const auto channel = std::make_shared<CheckingChannel>();
  for (std::size_t begin = 0; begin <= input.size();) {
    const std::size_t end = std::min(input.find('\n', begin), input.size());
    const std::string_view line = input.substr(begin, end - begin);
    begin = end + 1;
    (void)header_value(line);
    (void)check_names({{"Host", std::string(line)}, {"Origin", std::string(line)}}, {});
    for (Message& message : read_messages(line).messages) {
      if (message.kind == Message::Kind::Request)
        (void)check_headers({{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Param-N", "1"}}, message,
                            {{"n", "N"}});
      if (const auto call =
              server.begin({session, channel, ProtocolForm::Unknown}, std::move(message)))
        server.run(call);
    }
  }
  server.end_subscriptions(*session);
}

}  // namespace nutshell::fuzz
