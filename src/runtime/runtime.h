// The API below CLI, HTTP, gRPC and MCP: create, exec, stop, list. Knows no transport and no
// backend by name. Keeps idle backends and idle streams to inits, so that a call on an open sandbox
// asks neither an engine nor the launcher. Thread-safe once the daemon is chosen.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "base/guarded.h"
#include "core/backend.h"
#include "core/exec.h"
#include "core/network_report.h"
#include "core/sandbox_spec.h"
#include "runtime/stream_pool.h"
#include "wire/egress_messages.h"
#include "wire/exec_io.h"
#include "wire/init_client.h"

namespace nutshell {

class Runtime {
 public:
  explicit Runtime(BackendContext context) : context_(std::move(context)) {}
  // From now on uses the sandboxes of this daemon; nullopt: those of the local backends. Must be
  // called before anything else.
  void use_daemon(std::optional<DaemonAccess> daemon) { context_.daemon = std::move(daemon); }
  [[nodiscard]] const BackendContext& context() const { return context_; }

  // Hooks around the command of run(); each may be empty. If `before` fails, the command does not
  // run.
  struct RunHooks {
    std::function<Result<>(wire::InitClient&)> before;
    std::function<void(wire::InitClient&)> after;
    // Called after the command of a sandbox that has a network, if its program still answers.
    std::function<void(const NetworkStatus&, const std::vector<NetworkEvent>&)> network;
    // Called with the result before the sandbox is removed, which may take a while.
    std::function<void(const ExecResult&)> ended;
  };
  // Makes a sandbox for one command, and removes it.
  Result<ExecResult> run(const SandboxSpec& spec, const ExecRequest& request, wire::ExecIo& io,
                         const RunHooks& hooks);
  Result<ExecResult> run(const SandboxSpec& spec, const ExecRequest& request, wire::ExecIo& io) {
    return run(spec, request, io, RunHooks());
  }

  // Sandboxes are named by their id or an unambiguous beginning of it. The id says which backend
  // has the sandbox; no other is asked.
  Result<std::string> create(const SandboxSpec& spec) { return create(spec, nullptr); }
  // Until `prepare` has succeeded, the sandbox ends with this process, even if that is killed.
  using Prepare = std::function<Result<>(const std::string& id)>;
  Result<std::string> create(const SandboxSpec& spec, const Prepare& prepare);
  // Makes a sandbox for `step`, which ends with it or with this process.
  Result<int> with_temporary(const SandboxSpec& spec,
                             const std::function<Result<int>(const std::string& id)>& step);
  Result<ExecResult> exec(const std::string& id, const ExecRequest& request, wire::ExecIo& io);
  Result<> destroy(const std::string& id);
  Result<SandboxStats> stats(const std::string& id);
  Result<> pause(const std::string& id);
  Result<> resume(const std::string& id);
  // Makes /workspace the stack of layers that the sandbox's init asked for.
  Result<> restack(const std::string& id, const std::vector<std::string>& layers);
  Gone why_gone(const std::string& id);

  // The network of a sandbox that was started with a policy. Conflict: it was started without one.
  // Unavailable: the program that carries its connections was killed, so it has no network any
  // more. A client of a daemon asks the daemon itself instead.
  Result<NetworkStatus> network(const std::string& id);
  // Ends the connections that the new policy does not allow.
  Result<NetworkStatus> set_network(const std::string& id, const NetworkPolicy& policy);
  // The events with a greater number than `after` that are still kept, oldest first.
  Result<std::vector<NetworkEvent>> network_events(const std::string& id, std::uint64_t after);

  // Gives a stream to the sandbox's init: an idle one, or else a new one. After a conversation that
  // went well, keep() makes it available to the next caller.
  Result<wire::InitClient> connect(const std::string& id);
  void keep(const std::string& id, wire::InitClient client) {
    streams_.keep(id, std::move(client));
  }
  // Calls `step` with such a stream, and keeps it unless `step` failed.
  template <typename Step>
  auto with_init(const std::string& id, Step step)
      -> decltype(step(std::declval<wire::InitClient&>())) {
    const std::string whole_id = TRY(this->whole_id(id));
    wire::InitClient client = TRY(connect(whole_id));
    auto result = step(client);
    if (result) keep(whole_id, std::move(client));
    return result;
  }
  // Opens a new stream that never gets into the pool.
  Result<UniqueFd> open_stream(const std::string& id);
  // Whether the sandbox's init answers before the deadline.
  Result<> ping(const std::string& id, const Deadline& deadline);
  StreamPool& streams() { return streams_; }

  // Asks the backend only if `id` is a beginning.
  Result<std::string> whole_id(const std::string& id);
  Result<SandboxStatus> find(const std::string& id);

  // Sandboxes that have all of `labels`. Fails if any backend does not answer.
  Result<std::vector<SandboxStatus>> list(const std::map<std::string, std::string>& labels = {});
  // Sandboxes of one backend that have all of `labels`.
  Result<std::vector<SandboxStatus>> list_of(const std::string& backend,
                                             const std::map<std::string, std::string>& labels = {});
  struct Listing {
    std::vector<SandboxStatus> sandboxes;
    std::map<std::string, Error> unanswered;  // the backends that did not answer, and why
  };
  // Asks all backends at once and lists the sandboxes of those that answer. Fails if none does.
  Result<Listing> list_reachable(const std::map<std::string, std::string>& labels = {});

  // The spec of a sandbox, with its environment, to make another one like it.
  Result<SandboxSpec> spec_of(const std::string& id);

  // The protections that a sandbox of this spec would have; an error if it cannot start here.
  Result<Protections> check(const SandboxSpec& spec);
  Result<Protections> probe(const std::string& backend);
  SweepReport sweep(SweepMode mode);
  // Frees what idle backends hold of connections that have ended, and idle streams; see
  // StreamPool::tidy().
  void tidy(const std::function<bool(const std::string& sandbox)>& is_known);

  // A backend that one thread uses. The destructor gives it back.
  class BackendLease {
   public:
    BackendLease(Runtime& home, std::unique_ptr<Backend> backend)
        : home_(&home), backend_(std::move(backend)) {}
    BackendLease(BackendLease&&) = default;
    BackendLease& operator=(BackendLease&&) = delete;
    ~BackendLease() {
      if (backend_) home_->give_back(std::move(backend_));
    }
    Backend* operator->() const { return backend_.get(); }
    Backend& operator*() const { return *backend_; }

   private:
    Runtime* home_;
    std::unique_ptr<Backend> backend_;
  };
  // The backend of that name; the first one if `wanted` is empty.
  Result<BackendLease> backend(const std::string& wanted);
  // The backend of the sandbox with this id.
  Result<BackendLease> backend_of(const std::string& id);

 private:
  static constexpr std::size_t kMostIdleBackends = 64;  // of one name

  [[nodiscard]] const std::vector<BackendEntry>& backends() const;
  Result<const BackendEntry*> entry_of(const std::string& id) const;
  void give_back(std::unique_ptr<Backend> backend);
  // The spec with what `toolchains` stands for, checked.
  static Result<SandboxSpec> with_tools(const SandboxSpec& spec);
  Result<wire::EgressAnswer> ask_network_of(const std::string& id,
                                            const wire::EgressQuestion& question);
  // After the command of run().
  static void report_network(const std::string& id, const RunHooks& hooks);
  // Calls `step` with the sandbox's backend and its whole id.
  template <typename Step>
  auto at(const std::string& id, Step step)
      -> decltype(step(std::declval<Backend&>(), std::string()));

  BackendContext context_;
  Guarded<std::map<std::string, std::vector<std::unique_ptr<Backend>>>> idle_backends_;
  StreamPool streams_;  // destroyed before the backends, whose threads may carry streams
};

}  // namespace nutshell
