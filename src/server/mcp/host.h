// What stands behind the protocol. The server knows messages, revisions and who waits for what; a
// host knows what there is to call, read and be asked for. Hosts are called from several threads.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "server/mcp/message.h"

namespace nutshell::mcp {

inline constexpr std::string_view kStatelessRevision = "2026-07-28";
inline constexpr std::string_view kLastSessionRevision = "2025-11-25";

// Who asks, as it says itself; only `owner` and `session` are known to be true.
struct Client {
  std::string revision;
  std::string capabilities = "{}";  // JSON object
  std::string owner;                // whose token it was; empty: the user of this process
  std::string session;              // of the connection; empty: there is no such thing
  std::string name;                 // of the work it goes on with; empty: it names none

  [[nodiscard]] bool is_stateless() const { return revision == kStatelessRevision; }
  // "sampling", "elicitation", "extensions/io.modelcontextprotocol~1tasks": a JSON pointer
  // without its first slash.
  [[nodiscard]] bool can(std::string_view capability) const;
};

enum class LogLevel : std::uint8_t {
  Debug,
  Info,
  Notice,
  Warning,
  Error,
  Critical,
  Alert,
  Emergency,
};

// One request while it is answered.
class Call {
 public:
  virtual ~Call() = default;

  [[nodiscard]] virtual const Client& client() const = 0;
  // Both are dropped where the client did not ask for them.
  virtual void report(double progress, double total, std::string_view text) = 0;
  virtual void log(LogLevel level, std::string_view text) = 0;
  // A request of ours to the client, and its result (JSON). Unsupported where the revision has no
  // such requests, Cancelled when the call was.
  virtual Result<std::string> ask(std::string_view method, std::string_view params) = 0;
  // What the client gives on its second attempt (JSON object; empty: it is the first one).
  [[nodiscard]] virtual std::string input_responses() const = 0;
  [[nodiscard]] virtual std::string request_state() const = 0;

  [[nodiscard]] virtual bool is_cancelled() const = 0;
  [[nodiscard]] virtual int interrupt() const = 0;  // readable once it is cancelled
};

// The text of a result object, or why there is none. "resultType" is the server's to add, unless
// it is there already.
struct Answer {
  std::string object;
  enum class Type : std::uint8_t { Complete, InputRequired, Task } type = Type::Complete;
};
using Reply = std::variant<Answer, Problem>;

struct Abilities {
  bool prompts = false;
  bool resources = false;
  bool completion = false;
  bool logging = false;
  bool lists_change = false;      // tools, prompts and resources may come and go
  bool resources_change = false;  // a single resource may be watched
  // How long a tool may take before a client that can come back for its result is answered with a
  // task. None: there are no tasks.
  std::optional<std::chrono::milliseconds> task_patience = std::nullopt;
};

struct Description {
  std::string name;
  std::string title;
  std::string version;
  std::string instructions;
  Abilities abilities;
};

// A parameter that a client repeats as the header Mcp-Param-<header>.
struct MirroredParameter {
  std::string name;
  std::string header;
};

enum class Listing : std::uint8_t { Tools, Prompts, Resources, ResourceTemplates };

class Host {
 public:
  virtual ~Host() = default;

  [[nodiscard]] virtual Description describe() const = 0;
  // {"tools":[…]} and so on. The same bytes for the same client, every time.
  virtual std::string list(Listing listing, const Client& client) = 0;

  // `arguments` is the text of an object. A tool that is not there is kInvalidParams.
  virtual Reply call_tool(Call& call, const std::string& name, const std::string& arguments) = 0;
  virtual Reply get_prompt(Call& call, const std::string& name, const std::string& arguments) = 0;
  // One that is not there is kResourceNotFound.
  virtual Reply read_resource(Call& call, const std::string& uri) = 0;
  // {"ref":…,"argument":…} → {"completion":…}
  virtual Reply complete(Call& call, const std::string& params) = 0;

  [[nodiscard]] virtual std::vector<MirroredParameter> mirrored(const std::string& /*tool*/) const {
    return {};
  }
  // The client whose session this was is gone.
  virtual void forget(const Client& /*client*/) {}
};

}  // namespace nutshell::mcp
