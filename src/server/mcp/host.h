// The interface between the protocol and the product. The server handles messages, revisions and
// pending requests; a host has the tools, resources and prompts. Hosts are called from several
// threads.
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

// The client of a request. Only `owner` and `session` are proved; the rest is what the client says.
struct Client {
  std::string revision;
  std::string capabilities = "{}";  // JSON object
  std::string owner;                // the token's owner; empty for the user of this process
  std::string session;              // id of the session; empty without one
  std::string name;                 // name of a session to come back to; empty without one

  [[nodiscard]] bool is_stateless() const { return revision == kStatelessRevision; }
  // `capability` is a JSON pointer without its first slash: "sampling", "elicitation",
  // "extensions/io.modelcontextprotocol~1tasks".
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

// One request while a host answers it.
class Call {
 public:
  virtual ~Call() = default;

  [[nodiscard]] virtual const Client& client() const = 0;
  // Sent only to clients that asked for progress, or for log messages.
  virtual void report(double progress, double total, std::string_view text) = 0;
  virtual void log(LogLevel level, std::string_view text) = 0;
  // Sends a request to the client and returns its result (JSON). Unsupported if the revision has no
  // such requests, Cancelled if the call was cancelled.
  virtual Result<std::string> ask(std::string_view method, std::string_view params) = 0;
  // The inputs that the client adds on its second attempt (JSON object; empty on the first one).
  [[nodiscard]] virtual std::string input_responses() const = 0;
  [[nodiscard]] virtual std::string request_state() const = 0;

  [[nodiscard]] virtual bool is_cancelled() const = 0;
  [[nodiscard]] virtual int interrupt() const = 0;  // readable once it is cancelled
};

// The text of a result object. The server adds "resultType" unless it is there already.
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
  // How long a tool may take before a client that supports tasks is answered with a task. nullopt:
  // the host has no tasks.
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
  // Returns {"tools":[…]} and so on: the same bytes for the same client every time.
  virtual std::string list(Listing listing, const Client& client) = 0;

  // `arguments` is an object. An unknown tool is kInvalidParams.
  virtual Reply call_tool(Call& call, const std::string& name, const Json& arguments) = 0;
  virtual Reply get_prompt(Call& call, const std::string& name, const Json& arguments) = 0;
  // An unknown resource is kResourceNotFound.
  virtual Reply read_resource(Call& call, const std::string& uri) = 0;
  // Turns {"ref":…,"argument":…} into {"completion":…}.
  virtual Reply complete(Call& call, const Json& params) = 0;

  [[nodiscard]] virtual std::vector<MirroredParameter> mirrored(const std::string& /*tool*/) const {
    return {};
  }
  // Called when the session of this client has ended.
  virtual void forget(const Client& /*client*/) {}
};

}  // namespace nutshell::mcp
