// The runtime for many callers at once, which HTTP, gRPC and MCP share. Thread-safe. For another
// tenant's sandbox, session or exec the error is the same as for one that never existed.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/exec.h"
#include "runtime/tool_runner.h"
#include "service/execs/collected_output.h"
#include "service/model/caller.h"
#include "service/model/exec_view.h"
#include "service/model/sandbox_view.h"
#include "service/tenants/service_options.h"
#include "wire/exec_io.h"

namespace nutshell::service {

class Evidence;
class Health;
class InitStreams;
class Operations;
class Pools;
class SandboxFiles;
class SandboxNetwork;
class Sessions;

class Service {
 public:
  // Locks the state directory against a second service, adopts sandboxes that run, removes
  // leftovers of those that do not, and starts the threads that watch deadlines.
  static Result<std::unique_ptr<Service>> open(ServiceOptions options);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service();  // ends nothing: sandboxes and detached execs go on

  // Refuses new work from now on and waits until the rest has ended, or the deadline.
  void drain(const Deadline& deadline);
  // Changes what tenants may hold and choose from now on. What they hold already stays theirs.
  void set_rules(TenantRules rules);

  // The parts of the service beside sandboxes and execs, which are below. Each records its own
  // operations.
  SandboxFiles& files();
  SandboxNetwork& network();
  Sessions& sessions();
  Pools& pools();
  InitStreams& streams();
  Evidence& evidence();
  Health& health();
  Operations& operations();

  // ---- Sandboxes. An id may be an unambiguous beginning of one, of at least three characters.
  Result<SandboxView> create(const Caller& caller, const CreateRequest& request);
  Result<SandboxView> find(const Caller& caller, const std::string& id);
  Result<SandboxPage> list(const Caller& caller, const ListRequest& request);
  Result<> destroy(const Caller& caller, const std::string& id);
  Result<SandboxView> pause(const Caller& caller, const std::string& id);
  Result<SandboxView> resume(const Caller& caller, const std::string& id);
  // Starts the ttl again now, with this length.
  Result<SandboxView> extend(const Caller& caller, const std::string& id,
                             std::chrono::milliseconds ttl);
  // The spec with its environment, to make a sandbox like it.
  Result<SandboxSpec> spec_of(const Caller& caller, const std::string& id);
  // Makes a sandbox with the same spec and a copy of the workspace.
  Result<SandboxView> fork(const Caller& caller, const std::string& id);
  Result<SandboxStats> stats(const Caller& caller, const std::string& id);
  Result<Protections> check(const Caller& caller, const SandboxSpec& spec);

  // ---- Execs
  // The account that CollectedOutput charges for a caller that waits for the whole output.
  OutputRoom output_room(const Caller& caller);
  // For a call that collects what a sandbox says.
  Result<CallMemory> call_memory(const Caller& caller);
  // Runs the command to its end on this thread. An error means that it was not started.
  Result<ExecReply> exec(const Caller& caller, const std::string& id, const ExecRequest& request,
                         const ExecOptions& options, wire::ExecIo& io);
  // Starts the command and returns; it runs without the caller.
  Result<ExecState> start_exec(const Caller& caller, const std::string& id,
                               const ExecRequest& request, const ExecOptions& options);
  Result<ExecState> find_exec(const Caller& caller, const std::string& id,
                              const std::string& exec_id);
  // Passes output from these offsets on to `io`, and new output as it comes, until the end of the
  // exec or the deadline. Any number of callers may follow one exec. Returns early when `io` takes
  // no more of either stream; passes a CancelExec or SendSignal event of `io` to the command.
  Result<ExecState> follow_exec(const Caller& caller, const std::string& id,
                                const std::string& exec_id, const ExecOffsets& from,
                                const Deadline& deadline, wire::ExecIo& io);
  Result<> signal_exec(const Caller& caller, const std::string& id, const std::string& exec_id,
                       const wire::ExecEvent& event);
  // `arguments` follow the tool's schema. Errors of the tool itself are in the result.
  Result<ToolReply> call_tool(const Caller& caller, const std::string& id, const std::string& tool,
                              const nlohmann::json& arguments, const ToolRunnerOptions& options);

 private:
  struct Parts;
  explicit Service(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace nutshell::service
