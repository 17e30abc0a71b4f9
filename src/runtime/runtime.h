// The one API that every way in calls: create, exec, stop, list. Knows no transport and no
// backend by name. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "core/backend.h"
#include "core/exec.h"
#include "core/labels.h"
#include "core/sandbox_spec.h"
#include "wire/exec_io.h"
#include "wire/init_client.h"

namespace nutshell {

class Runtime {
 public:
  explicit Runtime(BackendContext context) : context_(std::move(context)) {}
  // From now on sandboxes are this daemon's; none: those of the backends here. To be said before
  // the first one is asked for.
  void use_daemon(std::optional<DaemonAccess> daemon) { context_.daemon = std::move(daemon); }
  [[nodiscard]] const BackendContext& context() const { return context_; }

  // What else is done in a sandbox for one command; each may be empty. Without the first there is
  // no command.
  struct Around {
    std::function<Result<>(wire::InitClient&)> before;
    std::function<void(wire::InitClient&)> after;
    // Told of the result before the sandbox is taken apart, which may take a while.
    std::function<void(const ExecResult&)> ended;
  };
  // A sandbox for this one command: made, used, and gone when this returns.
  Result<ExecResult> run(const SandboxSpec& spec, const ExecRequest& request, wire::ExecIo& io,
                         const Around& around);
  Result<ExecResult> run(const SandboxSpec& spec, const ExecRequest& request, wire::ExecIo& io) {
    return run(spec, request, io, Around());
  }

  Result<std::string> create(const SandboxSpec& spec) { return create(spec, nullptr); }
  // Until `prepare` has succeeded the sandbox ends with this process, however that ends.
  using Prepare = std::function<Result<>(const std::string& id)>;
  Result<std::string> create(const SandboxSpec& spec, const Prepare& prepare);
  Result<ExecResult> exec(const std::string& id, const ExecRequest& request, wire::ExecIo& io);
  Result<wire::InitClient> connect(const std::string& id);
  // For whoever needs more of a sandbox than its init: its backend, its whole id, and a stream.
  struct Opened {
    Backend* where;
    std::string id;
    UniqueFd stream;
  };
  Result<Opened> open_stream(const std::string& id);
  Result<> destroy(const std::string& id);
  Result<SandboxStats> stats(const std::string& id);
  Result<> pause(const std::string& id);
  Result<> resume(const std::string& id);
  // Makes /workspace the stack of layers that the sandbox's init asked for.
  Result<> restack(const std::string& id, const std::vector<std::string>& layers);

  // With `labels`, only those that have all of them.
  Result<std::vector<SandboxStatus>> list(const std::map<std::string, std::string>& labels = {});
  // By its id or an unambiguous beginning of it.
  Result<SandboxStatus> find(const std::string& id);

  // A spec to make another one by: the sandbox's, with its environment.
  Result<SandboxSpec> spec_of(const std::string& id);

  // What sandboxes of this spec would be protected by; an error if it cannot be started here.
  Result<Protections> check(const SandboxSpec& spec);
  Result<Protections> probe(const std::string& backend);
  SweepReport sweep(SweepMode mode);
  // Of every backend that was asked for; see Backend::tidy().
  void tidy();

  // For whoever keeps his own list of sandboxes: the backend of that name, or the first.
  Result<Backend*> backend(const std::string& wanted);

 private:
  [[nodiscard]] const std::vector<BackendEntry>& backends() const;
  // The backend that has written down that this sandbox is its own; null: none.
  Result<Backend*> remembering(const std::string& id);
  // The sandbox's backend, and its whole id.
  Result<std::pair<Backend*, std::string>> locate(const std::string& id);
  Result<std::pair<Backend*, std::string>> locate_to_end(const std::string& id);

  BackendContext context_;
  std::map<std::string, std::unique_ptr<Backend>> backends_;
};

}  // namespace nutshell
