// The operations on sandboxes that an MCP host needs. An owner never reaches the sandboxes of
// another one. Thread-safe.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
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

// Label of every sandbox of a client's session.
inline constexpr const char* kSessionLabel = "mcp.session";

// Identifies the session of a client.
struct SessionKey {
  std::string owner;         // empty for the user of this process
  std::string label;         // a hash, the same for the same session
  std::string name;          // as the client gave it; else empty
  std::string backend = {};  // of the session's sandboxes; if empty, the first backend
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
    std::string remark = {};  // what the client has to know of its new sandbox
  };

  virtual ~Sandboxes() = default;

  // Returns the session's own sandbox; makes it if there is none.
  virtual Result<Bound> ensure(const SessionKey& session, const SandboxSpec& spec) = 0;
  // NotFound if the session has no sandbox.
  virtual Result<std::string> find(const SessionKey& session) = 0;
  // How long a sandbox may be used before ensure() must be called again to renew its lease.
  [[nodiscard]] virtual std::chrono::milliseconds ensured_for() const {
    return std::chrono::hours(24 * 365);
  }
  // Lists the session's own sandbox and those that it created.
  virtual Result<std::vector<SandboxStatus>> list(const SessionKey& session) = 0;
  virtual Result<std::string> create(const SessionKey& session, const SandboxSpec& spec) = 0;
  virtual Result<> destroy(const Place& place) = 0;
  virtual Result<std::string> fork(const Place& place) = 0;

  // An error means that the sandbox could not be reached and nothing was done.
  virtual Result<ToolResult> call(const Place& place, const Tool& tool,
                                  const nlohmann::json& arguments,
                                  const ToolRunnerOptions& options) = 0;

  virtual Result<StoredOutput> output(const Place& place, const std::string& output_id) = 0;
  virtual Result<std::string> read_file(const Place& place, const std::string& path,
                                        std::size_t most) = 0;
  // Lists at most `most` names of a directory; names of directories end in a slash.
  virtual Result<std::vector<std::string>> names(const Place& place, const std::string& directory,
                                                 std::size_t most) = 0;
  // A patch of the changes in the workspace. Beyond `most` bytes it ends behind a whole file, with
  // a note.
  virtual Result<std::string> diff(const Place& place, std::size_t most) = 0;

  // Whether there is an audit record; and the newest `most` entries of a sandbox, a JSON object on
  // each line.
  [[nodiscard]] virtual bool has_record() const { return false; }
  virtual Result<std::string> record(const Place& /*place*/, std::size_t /*most*/) {
    return failure(ErrorCode::Unsupported, "no record is kept");
  }
};

}  // namespace nutshell::mcp
