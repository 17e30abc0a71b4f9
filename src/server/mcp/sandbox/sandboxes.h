// What an MCP host needs of the layer that keeps sandboxes. Thread-safe. An owner never reaches
// what belongs to another one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/backend.h"
#include "core/sandbox_spec.h"
#include "core/tool.h"
#include "runtime/tool_runner.h"
#include "tools/stored_output.h"

namespace nutshell::mcp {

class Sandboxes {
 public:
  struct Place {
    std::string owner;  // empty: the user of this process
    std::string id;
  };
  using Labels = std::map<std::string, std::string>;

  virtual ~Sandboxes() = default;

  virtual Result<std::string> create(const std::string& owner, const SandboxSpec& spec) = 0;
  virtual Result<std::vector<SandboxStatus>> list(const std::string& owner,
                                                  const Labels& labels) = 0;
  virtual Result<> destroy(const Place& place) = 0;
  virtual Result<std::string> fork(const Place& place) = 0;

  // An error: the sandbox could not be reached, and nothing was done.
  virtual Result<ToolResult> call(const Place& place, const Tool& tool, std::string_view arguments,
                                  const ToolRunnerOptions& options) = 0;

  virtual Result<StoredOutput> output(const Place& place, const std::string& output_id) = 0;
  virtual Result<std::string> read_file(const Place& place, const std::string& path,
                                        std::size_t most) = 0;
  // Of a directory, at most `most`; those of directories end in a slash.
  virtual Result<std::vector<std::string>> names(const Place& place, const std::string& directory,
                                                 std::size_t most) = 0;
  // A patch of what was changed in the workspace; cut at a file, and said so, behind `most` bytes.
  virtual Result<std::string> diff(const Place& place, std::size_t most) = 0;
};

}  // namespace nutshell::mcp
