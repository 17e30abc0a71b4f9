// Serves the tools of the registry over MCP; each client has a sandbox of its own. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/tool.h"
#include "server/mcp/host.h"
#include "server/mcp/sandbox/sandbox_binding.h"
#include "server/mcp/sandbox/sandboxes.h"
#include "server/mcp/sandbox/tool_listing.h"

namespace nutshell::mcp {

enum class Choosing : std::uint8_t {
  One,   // every call goes to the client's one sandbox
  Many,  // calls may name a sandbox, and there are tools to make and end sandboxes
};

// The directory that becomes the workspace, and the label of its sandbox (empty: as before).
struct Project {
  std::string workspace;
  std::string label;
};

struct SandboxHostOptions {
  std::string version;
  std::vector<Tool> tools;  // as the client sees them
  ToolPolicy policy;
  ToolRunnerOptions calls;  // `interrupt` is set for each call
  Choosing choosing = Choosing::One;
  SandboxSpec spec;
  std::string session;  // label of a client without a session of its own
  // Chooses the project among the directories that a client names as its roots. Empty: clients are
  // not asked for them.
  std::function<std::optional<Project>(const std::vector<std::string>& directories)> choose_project;
  // Called with messages for the log of this process; may be empty.
  std::function<void(const std::string&)> note;
};

class SandboxHost : public Host {
 public:
  SandboxHost(Sandboxes& sandboxes, SandboxHostOptions options);

  [[nodiscard]] Description describe() const override;
  std::string list(Listing listing, const Client& client) override;
  Reply call_tool(Call& call, const std::string& name, const Json& arguments) override;
  Reply get_prompt(Call& call, const std::string& name, const Json& arguments) override;
  Reply read_resource(Call& call, const std::string& uri) override;
  Reply complete(Call& call, const Json& params) override;
  [[nodiscard]] std::vector<MirroredParameter> mirrored(const std::string& tool) const override;
  [[nodiscard]] SessionKey session_of(const Client& client) const {
    return binding_.key_of(client);
  }
  // Ends the sandboxes of a session that no client can come back to.
  void forget(const Client& client) override;

 private:
  struct Wanted {  // the sandbox and the arguments of a call
    std::string id;
    std::unique_ptr<const Json> arguments;  // without `sandbox`; nullptr: as they were given
    std::string remark;  // put before the text, to tell the model about its sandbox
  };
  // Asks the client for its roots before the first call; returns a reply if that is how to ask.
  std::optional<Reply> ask_for_project(Call& call);
  Result<Wanted> place_call(Call& call, const Tool& tool, const Json& arguments);
  Result<std::string> bound(Call& call, std::string& remark);
  ToolResult run(Call& call, const Tool& tool, const Json& arguments, Wanted wanted);
  ToolResult manage(Call& call, const Tool& tool, const Json& arguments);
  Result<std::string> create_named(const Client& client);
  Result<std::string> list_named(const Client& client);
  [[nodiscard]] const Tool* find(const std::string& name) const;
  [[nodiscard]] bool is_managing(const Tool& tool) const;
  [[nodiscard]] std::string instructions() const;
  [[nodiscard]] std::string content_of(const ToolResult& result) const;
  std::string describe_sandbox(const Client& client);

  Sandboxes& sandboxes_;
  SandboxHostOptions options_;
  SandboxBinding binding_;
  std::size_t managing_from_ = 0;  // tools from here on are about sandboxes
  std::string tools_;              // the listing
  std::mutex asking_;              // held while a client is asked: other calls wait for the answer
  bool has_asked_ = false;
};

// The tools of Choosing::Many, named with the prefix.
std::vector<Tool> managing_tools(const std::string& prefix);

}  // namespace nutshell::mcp
