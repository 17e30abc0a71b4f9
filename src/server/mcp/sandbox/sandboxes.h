// What an MCP host needs of the layer that keeps sandboxes. Thread-safe. An owner never reaches
// what belongs to another one.
#pragma once

#include <chrono>
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

// Of every sandbox that belongs to a client's session.
inline constexpr const char* kSessionLabel = "mcp.session";

// What a client comes back to.
struct SessionKey {
  std::string owner;         // empty: the user of this process
  std::string label;         // the same for the same session, and nothing to guess a name from
  std::string name;          // as the client gave it; empty: it gave none
  std::string backend = {};  // of the session's sandboxes; empty: the first one
};

class Sandboxes {
 public:
  struct Place {
    std::string owner;
    std::string id;
  };
  struct Bound {
    enum class How : std::uint8_t { Known, Found, Made, MadeAnew };
    std::string id;
    How how = How::Known;
  };

  virtual ~Sandboxes() = default;

  // The session's own sandbox: the one it has, or a new one.
  virtual Result<Bound> ensure(const SessionKey& session, const SandboxSpec& spec) = 0;
  // NotFound: it has none.
  virtual Result<std::string> find(const SessionKey& session) = 0;
  // How long it may be used before it must be ensured again, or its lease runs out. Far, but within
  // what the clock can count.
  [[nodiscard]] virtual std::chrono::milliseconds ensured_for() const {
    return std::chrono::hours(24 * 365);
  }
  // Its own, and those made besides.
  virtual Result<std::vector<SandboxStatus>> list(const SessionKey& session) = 0;
  virtual Result<std::string> create(const SessionKey& session, const SandboxSpec& spec) = 0;
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

  // Whether what is done is recorded; and the record of a sandbox, a JSON object on each line, the
  // newest `most` of them.
  [[nodiscard]] virtual bool has_record() const { return false; }
  virtual Result<std::string> record(const Place& /*place*/, std::size_t /*most*/) {
    return failure(ErrorCode::Unsupported, "no record is kept");
  }
};

}  // namespace nutshell::mcp
