// The runtime for many callers at once: the one API of the daemon. Thread-safe: any operation may
// be called from any thread. Another tenant's sandbox, session or exec is "not found", word for
// word like one that never was.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "audit/record.h"
#include "base/account.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/exec.h"
#include "runtime/tool_runner.h"
#include "runtime/workspace.h"
#include "service/execs/collected_output.h"
#include "service/model/batch_view.h"
#include "service/model/caller.h"
#include "service/model/exec_view.h"
#include "service/model/metrics_view.h"
#include "service/model/pool_view.h"
#include "service/model/sandbox_view.h"
#include "service/model/session_view.h"
#include "service/tenants/service_options.h"
#include "wire/exec_io.h"
#include "wire/init_client.h"
#include "wire/tool_schema.h"

namespace nutshell::service {

// Charged to the tenant's memory until the answer is sent.
struct ChangeList {
  std::vector<JudgedChange> changes;
  Charge charge;
};

class Service {
 public:
  // Takes the state directory for itself: a second service on it is refused. Repairs, adopts what
  // runs, sweeps what is left of what does not, then starts its clocks.
  static Result<std::unique_ptr<Service>> open(ServiceOptions options);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service();  // ends nothing: sandboxes and detached execs go on

  // New work is refused from now on; waits until what runs has ended, or the deadline.
  void drain(const Deadline& deadline);
  // What tenants may hold and choose from now on. What they hold already stays theirs.
  void set_rules(TenantRules rules);
  // Whoever stands in line for a pool is refused, from now on.
  void stop_waiting();

  // ---- Sandboxes. An id may be an unambiguous beginning of one, of at least three characters.
  Result<SandboxView> create(const Caller& caller, const CreateRequest& request);
  Result<SandboxView> find(const Caller& caller, const std::string& id);
  Result<SandboxPage> list(const Caller& caller, const ListRequest& request);
  Result<> destroy(const Caller& caller, const std::string& id);
  Result<SandboxView> pause(const Caller& caller, const std::string& id);
  Result<SandboxView> resume(const Caller& caller, const std::string& id);
  // The ttl begins again now, with this length.
  Result<SandboxView> extend(const Caller& caller, const std::string& id,
                             std::chrono::milliseconds ttl);
  // With its environment: for whoever makes another one like it.
  Result<SandboxSpec> spec_of(const Caller& caller, const std::string& id);
  Result<SandboxStats> stats(const Caller& caller, const std::string& id);
  Result<Protections> check(const Caller& caller, const SandboxSpec& spec);

  // ---- Execs
  // For a caller who waits for the whole output: what CollectedOutput takes its memory from.
  OutputRoom output_room(const Caller& caller);
  // Runs the command to its one end on this thread. An error only when it could not be started.
  Result<ExecReply> exec(const Caller& caller, const std::string& id, const ExecRequest& request,
                         const ExecOptions& options, wire::ExecIo& io);
  // Returns at once; the command goes on without the caller.
  Result<ExecState> start_exec(const Caller& caller, const std::string& id,
                               const ExecRequest& request, const ExecOptions& options);
  Result<ExecState> find_exec(const Caller& caller, const std::string& id,
                              const std::string& exec_id);
  // Gives `io` what is kept from these offsets on, and what comes, until the end or the deadline.
  // Any number of callers may follow one exec. Ends early when `io` wants no more of either stream;
  // a CancelExec or SendSignal event of `io` goes to the command.
  Result<ExecState> follow_exec(const Caller& caller, const std::string& id,
                                const std::string& exec_id, const ExecOffsets& from,
                                const Deadline& deadline, wire::ExecIo& io);
  Result<> signal_exec(const Caller& caller, const std::string& id, const std::string& exec_id,
                       const wire::ExecEvent& event);
  // `arguments` as the tool's schema has them. What went wrong inside is in the result.
  Result<ToolReply> call_tool(const Caller& caller, const std::string& id, const std::string& tool,
                              const nlohmann::json& arguments, const ToolRunnerOptions& options);

  // ---- Files
  Result<wire::FileInfo> stat(const Caller& caller, const std::string& id, const std::string& path);
  Result<> read_file(const Caller& caller, const std::string& id, const wire::ReadFile& request,
                     const wire::InitClient::Sink& sink);
  Result<> write_file(const Caller& caller, const std::string& id, const wire::WriteFile& request,
                      const wire::InitClient::Source& source);
  Result<> walk(const Caller& caller, const std::string& id, const std::string& path,
                const wire::InitClient::Visitor& visit);
  // Whether a host would run or trust these entries of a directory.
  Result<std::vector<TrustVerdict>> judge_entries(const Caller& caller, const std::string& id,
                                                  const std::string& directory,
                                                  const std::vector<wire::FileInfo>& entries);
  Result<> make_directory(const Caller& caller, const std::string& id,
                          const wire::MakeDirectory& request);
  Result<> remove_file(const Caller& caller, const std::string& id, const wire::Remove& request);

  // ---- Workspaces
  // In the order of their paths, with what `apply` would hold back.
  Result<ChangeList> changes(const Caller& caller, const std::string& id);
  // Only for a caller that may use host files.
  Result<ApplyReport> apply(const Caller& caller, const std::string& id,
                            const ApplyOptions& options);
  Result<std::string> checkpoint(const Caller& caller, const std::string& id, Running running);
  Result<> rollback(const Caller& caller, const std::string& id, const std::string& checkpoint,
                    Running running);
  Result<SandboxView> fork(const Caller& caller, const std::string& id);

  // ---- For backends/daemon_client, which is a Backend over HTTP
  // A stream to a sandbox's init for whoever carries its bytes. What goes by is given to it first:
  // execs are counted and written down. As long as it lives the sandbox counts as used.
  class Stream {
   public:
    virtual ~Stream() = default;
    [[nodiscard]] virtual int descriptor() const = 0;
    struct Passed {
      std::string to_init;
      std::string to_client;
    };
    virtual Result<Passed> from_client(std::string_view bytes) = 0;
    virtual Result<Passed> from_init(std::string_view bytes) = 0;
    [[nodiscard]] virtual bool is_idle() const = 0;  // no exec of its runs
  };
  Result<std::unique_ptr<Stream>> open_stream(const Caller& caller, const std::string& id);
  // Ends a sandbox whose one stream has ended, whatever the reason, which is remembered.
  void end_with_stream(const Caller& caller, const std::string& id);
  Result<> restack(const Caller& caller, const std::string& id,
                   const std::vector<std::string>& layers);
  Result<Gone> why_gone(const Caller& caller, const std::string& id);
  SweepReport sweep(const Caller& caller, SweepMode mode);

  // ---- Sessions
  // Finds the session, or makes it: its sandbox, and its setup commands, exactly once for each of
  // its lives. A session that is there keeps its spec, setup and budget; its lease is renewed.
  Result<SessionView> ensure_session(const Caller& caller, const SessionRequest& request);
  Result<SessionView> find_session(const Caller& caller, const std::string& name);
  Result<SessionPage> list_sessions(const Caller& caller, const ListRequest& request);
  Result<SessionView> renew_session(const Caller& caller, const std::string& name,
                                    std::chrono::milliseconds lease);
  Result<> end_session(const Caller& caller, const std::string& name);
  // What sessions of this name kept of their workspace is removed.
  Result<> forget_workspace(const Caller& caller, const std::string& name);

  // ---- Pools. Their bounds hold whatever is asked.
  Result<> define_pool(const PoolSpec& spec);  // new, or changed; for the operator
  // Retires every pool that is not named here; for the operator.
  void retire_pools_but(const std::set<std::string>& names);
  Result<std::vector<PoolStatus>> pools(const Caller& caller);
  // Stands in line while all of the pool is taken, as long as the request says.
  Result<SandboxView> acquire(const Caller& caller, const AcquireRequest& request);
  // The sandbox is destroyed, and a fresh one takes its place: nothing of its user is left.
  Result<> release(const Caller& caller, const std::string& id);
  Result<Limits> pool_limits(const Caller& caller, const std::string& name);
  // These two are for whoever has the pool alone, or the daemon's own socket. The first waits until
  // min_idle are there, or the deadline.
  Result<PoolStatus> warm_pool(const Caller& caller, const std::string& name,
                               const Deadline& deadline);
  // Ends what waits; nothing new is made until the next acquire or warm. Gives how many.
  Result<std::uint32_t> drain_pool(const Caller& caller, const std::string& name);

  // ---- Many at once
  Result<std::vector<BatchResult>> batch(const Caller& caller, const BatchRequest& request,
                                         const BatchProgress& progress);

  // ---- Evidence
  Result<std::vector<audit::Record>> audit_records(const Caller& caller,
                                                   const audit::Filter& filter);
  // For the way in: a refused token, a denied request.
  void deny(const Caller& caller, const std::string& why);
  Result<std::vector<HistoryEntry>> history(const Caller& caller, const std::string& id);
  // Figures of the whole daemon; of pools only those that the caller may use, or all for its owner.
  MetricsSnapshot metrics(const Caller& caller);
  // Empty: ready. Else what is wrong: the record cannot be written, the database is full.
  std::string why_not_ready();
  // Backends that have not answered since the start, and why; all others can be used.
  std::map<std::string, std::string> unanswered_backends();

  struct Parts;  // for the service's own files

 private:
  explicit Service(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace nutshell::service
