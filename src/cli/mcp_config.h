// Edits the configuration files of MCP clients: adds our server or removes it, and leaves every
// other byte as it is.
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
  std::string_view path;  // of its configuration file, relative to that place
  Format format;
  std::string_view key;        // of the object that holds the servers
  std::string_view workspace;  // how the client writes the project directory; empty: it runs there
  std::string_view directory = {};  // where it starts servers, if that is outside of any project
};
const std::vector<McpClient>& mcp_clients();
Result<const McpClient*> find_mcp_client(const std::string& name);

inline constexpr const char* kMcpServerName = "nutshell";

struct McpCommand {
  std::string program;
  std::vector<std::string> arguments;

  bool operator==(const McpCommand&) const = default;
};

// Returns the text with our server in it, or without. An error if the text cannot be parsed well
// enough to change it; the same text if there is nothing to do.
Result<std::string> with_server(const McpClient& client, const std::string& text,
                                const McpCommand& command);
Result<std::string> without_server(const McpClient& client, const std::string& text);
// The command that the client would start; nullopt if the text does not have our server.
Result<std::optional<McpCommand>> server_in(const McpClient& client, const std::string& text);

// A whole file with our server alone, for a new file or for people to paste.
std::string only_server(const McpClient& client, const McpCommand& command);

// The position of a member in a JSON text, which may have comments and trailing commas. `path` are
// the keys to it.
struct JsonPlace {
  std::size_t key = 0;    // its opening quote
  std::size_t value = 0;  // its first byte
  std::size_t end = 0;    // one past its last byte
};
std::optional<JsonPlace> find_json_member(std::string_view text,
                                          const std::vector<std::string_view>& path);

}  // namespace nutshell::cli
