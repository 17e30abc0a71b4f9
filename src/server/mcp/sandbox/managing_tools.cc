// The tools to make, list, copy and end sandboxes, for clients that use several.
#include <fmt/format.h>

#include "base/rough_duration.h"
#include "server/mcp/sandbox/sandbox_host.h"
#include "tools/argument_parser.h"
#include "tools/result_text.h"

namespace nutshell::mcp {
namespace {

constexpr std::size_t kMostSandboxes = 64;  // for one client

Parameter id_parameter() {
  Parameter id;
  id.name = "id";
  id.presence = Parameter::Presence::Required;
  return id;
}

ToolResult text_result(std::string text) {
  ToolResult result;
  result.text = std::move(text);
  return result;
}

}  // namespace

std::vector<Tool> managing_tools(const std::string& prefix) {
  const ToolHints reads{.is_read_only = true};
  const ToolHints ends{.is_destructive = true, .is_idempotent = true};
  return {
      {prefix + "create",
       "Make another sandbox; prints its id. It ends by itself when unused.",
       {},
       {},
       nullptr},
      {prefix + "list", "List your sandboxes.", {}, reads, nullptr},
      {prefix + "fork",
       "Make a sandbox with the same files; prints its id.",
       {id_parameter()},
       {},
       nullptr},
      {prefix + "destroy", "End a sandbox and everything in it.", {id_parameter()}, ends, nullptr}};
}

Result<std::string> SandboxHost::create_named(const Client& client) {
  if (TRY(binding_.list(client)).size() >= kMostSandboxes)
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("there are {} sandboxes already", kMostSandboxes));
  return binding_.create(client);
}

Result<std::string> SandboxHost::list_named(const Client& client) {
  std::string text;
  for (const SandboxStatus& status : TRY(binding_.list(client)))
    text += fmt::format("{}  age {}, {} left{}\n", status.id, rough_duration(status.age),
                        rough_duration(status.time_left),
                        status.state == SandboxState::Paused ? ", paused" : "");
  return text.empty() ? "none yet; the first call makes one\n" : text;
}

ToolResult SandboxHost::manage(Call& call, const Tool& tool, const Json& arguments) {
  const auto parsed = check_arguments(tool, arguments, options_.policy.dialect);
  if (const auto* error = std::get_if<ToolError>(&parsed)) return refuse(*error);
  const std::string id = std::get<Arguments>(parsed).text("id");
  const std::string verb = tool.name.substr(options_.policy.prefix.size());
  const Client& client = call.client();
  if (!id.empty()) {
    const auto own = binding_.own(client, id);
    if (!own) return refuse(ToolError{ErrorCode::NotFound, own.error().message, {}, "List them."});
  }
  const Sandboxes::Place place{client.owner, id};
  Result<std::string> done;
  if (verb == "create") done = create_named(client);
  if (verb == "list") done = list_named(client);
  if (verb == "fork") done = sandboxes_.fork(place);
  if (verb == "destroy") {
    const auto ended = sandboxes_.destroy(place);
    if (!ended) return refuse(ToolError{ErrorCode::Unavailable, ended.error().message});
    binding_.forget(client, id);
    done = fmt::format("ended {}", id);
  }
  if (!done) return refuse(ToolError{ErrorCode::Unavailable, done.error().message});
  return text_result(std::move(*done));
}

}  // namespace nutshell::mcp
