#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/deadline.h"
#include "base/file.h"
#include "base/pipe.h"
#include "base/random_id.h"
#include "base/spawn.h"
#include "cli/commands/mcp_clients.h"
#include "cli/print.h"
#include "cli/report.h"
#include "server/mcp/sandbox/sandbox_binding.h"

namespace nutshell::cli {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr const char* kExamples = R"(Examples:
  nutshell mcp doctor                    the command that 'mcp init' would write
  nutshell mcp doctor claude-code        the command in that client's configuration

Starts the server, tries both versions of the protocol and calls a tool in a new sandbox, which is
ended afterwards.)";

constexpr auto kPatience = 60s;
// PATH of programs that a desktop starts.
constexpr const char* kDesktopPath = "PATH=/usr/local/bin:/usr/bin:/bin";
constexpr std::size_t kMostAnswer = 16U << 20U;

// A running MCP server, started as a client starts it. The destructor ends it.
class StartedServer {
 public:
  // `directory` is where the client starts servers; empty: here.
  static Result<StartedServer> start(const McpCommand& command, std::string_view directory) {
    Pipe input = TRY(make_pipe());
    Pipe output = TRY(make_pipe());
    std::vector<std::string> words = command.arguments;
    words.insert(words.begin(), command.program);
    if (!directory.empty()) words.insert(words.begin(), {"/usr/bin/env", kDesktopPath});
    ChildProcess process = TRY(spawn({.arguments = std::move(words),
                                      .input = input.read.get(),
                                      .output = output.write.get(),
                                      .directory = directory}));
    return StartedServer(std::move(process), std::move(input.write), std::move(output.read));
  }
  StartedServer(StartedServer&&) = default;
  StartedServer& operator=(StartedServer&&) = delete;
  ~StartedServer() {
    input_.reset();
    if (process_.is_owned()) (void)process_.wait(Deadline::never());  // it ends with its input
  }

  // Calls a method and returns its result.
  Result<Json> ask(const std::string& method, const Json& params) {
    const Json message = {
        {"jsonrpc", "2.0"}, {"id", ++last_}, {"method", method}, {"params", params}};
    TRY(write_all(input_.get(), message.dump() + "\n"));
    const auto deadline = Deadline::in(kPatience);
    while (true) {
      Json answer = Json::parse(TRY(read_line(deadline)), nullptr, false);
      if (!answer.is_object())
        return failure(ErrorCode::Corrupt, "it printed something that is not a JSON-RPC message");
      if (answer.value("id", Json()) != Json(last_)) continue;  // a notification
      if (answer.contains("result")) return std::move(answer["result"]);
      return failure(ErrorCode::Unavailable, answer["error"].value("message", "an error"));
    }
  }
  Result<> tell(const std::string& method) {
    return write_all(input_.get(), Json{{"jsonrpc", "2.0"}, {"method", method}}.dump() + "\n");
  }

 private:
  StartedServer(ChildProcess process, UniqueFd input, UniqueFd output)
      : process_(std::move(process)), input_(std::move(input)), output_(std::move(output)) {}

  Result<std::string> read_line(const Deadline& deadline) {
    while (rest_.find('\n') == std::string::npos) {
      if (!TRY(wait_for(output_.get(), POLLIN, deadline)))
        return failure(ErrorCode::DeadlineExceeded, "it does not answer");
      std::array<char, 1U << 16U> bytes{};
      const ssize_t got = ::read(output_.get(), bytes.data(), bytes.size());
      if (got <= 0) return failure(ErrorCode::Unavailable, "it has ended");
      rest_.append(bytes.data(), static_cast<std::size_t>(got));
      if (rest_.size() > kMostAnswer) return failure(ErrorCode::Corrupt, "its answer is too long");
    }
    const std::size_t end = rest_.find('\n');
    std::string line = rest_.substr(0, end);
    rest_.erase(0, end + 1);
    return line;
  }

  ChildProcess process_;
  UniqueFd input_;
  UniqueFd output_;
  std::string rest_;
  int last_ = 0;
};

Json stateless_meta() {
  return {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
          {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
}

// The steps of the examination: printed at once, or as JSON at the end.
class Findings {
 public:
  explicit Findings(bool is_json) : is_json_(is_json) {}

  void say(const std::string& what, const std::string& detail) {
    steps_.push_back({{"what", what}, {"found", detail}});
    if (!is_json_) print_out("ok    {}: {}\n", what, detail);
  }
  int end(const Result<>& examined) const {
    if (is_json_) {
      nlohmann::ordered_json object{{"ok", examined.has_value()}, {"steps", steps_}};
      if (!examined) object["error"] = examined.error().message;
      print_json(object);
    } else if (!examined) {
      print_out("FAIL  {}\n", examined.error().message);
    }
    return examined ? 0 : 1;
  }

 private:
  bool is_json_;
  nlohmann::ordered_json steps_ = nlohmann::ordered_json::array();
};

// The name of a read-only tool without required arguments.
Result<std::string> reading_tool(const Json& tools) {
  for (const Json& tool : tools) {
    const Json required = tool["inputSchema"].value("required", Json::array());
    const Json hints = tool.value("annotations", Json::object());
    if (required.empty() && hints.value("readOnlyHint", false) && tool.contains("name"))
      return tool["name"].get<std::string>();
  }
  return failure(ErrorCode::NotFound, "it has no tool that can be tried without arguments");
}

Result<> examine(StartedServer& server, Findings& findings) {
  const Json found = TRY(server.ask("server/discover", {{"_meta", stateless_meta()}}));
  findings.say("stateless protocol", found["supportedVersions"].dump());
  const Json agreed = TRY(
      server.ask("initialize",
                 {{"protocolVersion", "2025-11-25"},
                  {"capabilities", Json::object()},
                  {"clientInfo", {{"name", "nutshell-doctor"}, {"version", NUTSHELL_VERSION}}}}));
  findings.say("protocol with a handshake", agreed.value("protocolVersion", ""));
  TRY(server.tell("notifications/initialized"));
  const Json tools = TRY(server.ask("tools/list", Json::object()))["tools"];
  findings.say("tools", fmt::format("{}", tools.size()));
  const std::string name = TRY(reading_tool(tools));
  const auto began = Clock::now();
  const Json result =
      TRY(server.ask("tools/call", {{"name", name}, {"arguments", Json::object()}}));
  const auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
  const std::string text = result["content"][0].value("text", "");
  if (result.value("isError", false)) return failure(ErrorCode::Unavailable, text);
  findings.say("a sandbox and a call of " + name, fmt::format("{} ms", taken.count()));
  const Json read = TRY(server.ask("resources/read", {{"uri", "nutshell://sandbox"}}));
  const Json about = Json::parse(read["contents"][0].value("text", ""), nullptr, false);
  const std::string project = about.is_object() ? about.value("project", "") : "";
  findings.say("workspace",
               project.empty() ? "empty; --workspace DIR of the server names one" : project);
  return {};
}

// Ends the sandbox that the server made for this test.
void end_sandboxes(Runtime& runtime, const std::string& session) {
  const auto made =
      runtime.list_reachable({{mcp::kSessionLabel, mcp::session_label("name", session)}});
  if (!made) return;
  for (const SandboxStatus& status : made->sandboxes)
    (void)runtime.destroy(status.id);  // if this fails, its idle timeout ends it
}

struct DoctorFlags {
  std::string client;
  bool is_json = false;
};

Result<int> diagnose(Program& program, const DoctorFlags& flags) {
  const std::string& name = flags.client;
  Findings findings(flags.is_json);
  McpCommand command = TRY(own_mcp_command(program.command));
  std::string_view directory;
  if (!name.empty()) {
    const McpClient& client = *TRY(find_mcp_client(name));
    const std::string path = TRY(mcp_config_path(client));
    const auto configured = TRY(server_in(client, TRY(read_file(path))));
    if (!configured)
      return failure(ErrorCode::NotFound,
                     fmt::format("{} does not have this server: add it with 'nutshell mcp init {}'",
                                 path, name));
    command = *configured;
    directory = client.directory;
    findings.say("configuration", path);
    for (std::string& word : command.arguments)
      if (word == client.workspace && !word.empty()) word = ".";
  }
  const std::string session = "doctor-" + random_id(16);
  command.arguments.insert(command.arguments.end(), {"--session", session});
  Result<> examined;
  {
    StartedServer server = TRY(StartedServer::start(command, directory));
    examined = examine(server, findings);
  }
  end_sandboxes(program.runtime, session);
  return findings.end(examined);
}

}  // namespace

void add_mcp_doctor(const CommandLine& mcp, Program& program) {
  const CommandLine command =
      mcp.add_command("doctor", "Start the server as a client would, and try it");
  const auto flags = std::make_shared<DoctorFlags>();
  command.add_option("CLIENT", flags->client, "Start it as this client's configuration says");
  command.add_flag("--json", flags->is_json, "Print one JSON object");
  command.footer(kExamples);
  command.callback([flags, &program] {
    program.chosen = [flags, &program] { return diagnose(program, *flags); };
  });
}

}  // namespace nutshell::cli
