#include "daemon/mcp_config.h"

#include <fmt/format.h>

#include "core/text_form.h"

namespace nutshell::daemon {
namespace {

Failure wrong(const Config& config, std::string_view key, std::string_view why) {
  const Setting& setting = config.settings().find(key)->second;
  return failure(ErrorCode::InvalidArgument, fmt::format("{}: {} {}", setting.origin, key, why));
}

// mcp.memory, mcp.cpus and the other limits that have a setting.
Result<> take_limits(const Config& config, Limits& limits) {
  Result<> result;
  Limits::describe(
      [&](const FieldInfo& info, auto& member) {
        const std::string key = "mcp." + setting_name(info);
        if (!result || config.settings().find(key) == config.settings().end()) return;
        auto read = read_text(info, config.text(key), member);
        if (!read) result = wrong(config, key, read.error().message);
      },
      limits);
  return result;
}

bool is_web_address(const std::string& text) {
  return (text.starts_with("https://") || text.starts_with("http://")) &&
         text.find_first_of(" \"\\\r\n") == std::string::npos;
}

Result<> take_authorization(const Config& config, mcp::McpRoutesOptions& options) {
  options.resource_url = config.text("mcp.resource_url");
  options.authorization_servers = config.texts("mcp.authorization_servers");
  if (options.authorization_servers.empty()) return {};
  if (!is_web_address(options.resource_url))
    return wrong(config, "mcp.authorization_servers",
                 "needs mcp.resource_url: where clients reach /mcp, like "
                 "https://sandbox.example.com/mcp");
  for (const std::string& server : options.authorization_servers)
    if (!is_web_address(server))
      return wrong(config, "mcp.authorization_servers", "must be addresses with https://");
  return {};
}

Result<> take_tools(const Config& config, mcp::McpRoutesOptions& options) {
  const std::string& profile = config.text("mcp.profile");
  if (profile != "full" && profile != "readonly")
    return wrong(config, "mcp.profile", "must be full or readonly");
  options.tools.names = config.texts("mcp.tools");
  options.tools.reads_only = profile == "readonly";
  options.tools.prefix = config.text("mcp.tool_prefix");
  if (auto chosen = choose_tools(options.tools); !chosen)
    return wrong(config, "mcp.tools", chosen.error().message);
  return {};
}

}  // namespace

Result<mcp::McpRoutesOptions> mcp_options(const Config& config) {
  mcp::McpRoutesOptions options;
  TRY(take_tools(config, options));
  TRY(take_authorization(config, options));
  options.has_many = config.is_true("mcp.multi");
  options.is_structured = config.is_true("mcp.structured");
  options.most_sessions_of_one = config.number("mcp.sessions");
  options.lease = config.seconds("mcp.lease_seconds");
  if (options.lease.count() == 0) return wrong(config, "mcp.lease_seconds", "must be 1 or more");
  SandboxSpec& spec = options.spec;
  spec.backend = config.text("mcp.backend");
  spec.image = config.text("mcp.image");
  spec.ttl = config.seconds("limits.longest_life_seconds");
  TRY(take_limits(config, spec.limits));
  spec.limits.cpu_time = std::chrono::hours(1);
  TRY(check_spec(spec));
  return options;
}

}  // namespace nutshell::daemon
