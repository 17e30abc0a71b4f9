// The configuration files of MCP clients: puts our server into one, or takes it out again, and
// leaves every other byte as it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nutshell::cli {

struct McpClient {
  enum class Format { Json, Toml, Yaml };
  enum class Place { Project, Home };

  std::string_view name;
  Place place;
  std::string_view path;  // of its configuration, below that place
  Format format;
  std::string_view key;        // of the object that holds the servers
  std::string_view workspace;  // the client's word for the project directory; empty: it runs there
};
const std::vector<McpClient>& mcp_clients();
Result<const McpClient*> find_mcp_client(const std::string& name);

inline constexpr const char* kMcpServerName = "nutshell";

struct McpCommand {
  std::string program;
  std::vector<std::string> arguments;

  bool operator==(const McpCommand&) const = default;
};

// The text with our server in it, or without. Refused where the text cannot be understood well
// enough to change it; the same text where there is nothing to do.
Result<std::string> with_server(const McpClient& client, const std::string& text,
                                const McpCommand& command);
Result<std::string> without_server(const McpClient& client, const std::string& text);
// What the client would start; nothing if we are not in it.
Result<std::optional<McpCommand>> server_in(const McpClient& client, const std::string& text);

// For a file that is not there yet, or for people to paste.
std::string only_server(const McpClient& client, const McpCommand& command);

// Where a member of the object at the end of `path` stands in a JSON text, comments allowed.
struct JsonPlace {
  std::size_t key = 0;    // of its opening quote
  std::size_t value = 0;  // first byte
  std::size_t end = 0;    // behind the value
};
std::optional<JsonPlace> find_json_member(std::string_view text,
                                          const std::vector<std::string_view>& path);

}  // namespace nutshell::cli
