#include "service/service.h"

#include <fmt/format.h>

#include "audit/reader.h"
#include "base/fault_point.h"
#include "base/random_id.h"
#include "core/json_form.h"
#include "service/sandboxes/spec_text.h"
#include "service/service_parts.h"
#include "service/tenants/allowed.h"

namespace nutshell::service {
namespace {

// What makes two requests the same one.
std::string encode_acquire(const AcquireRequest& request) {
  SandboxSpec like;
  like.labels = request.labels;
  like.ttl = request.ttl.value_or(std::chrono::milliseconds(0));
  like.idle_timeout = request.idle_timeout.value_or(std::chrono::milliseconds(0));
  like.environment = request.environment;
  like.workspace = request.workspace;
  if (request.limits) like.limits = *request.limits;
  return fmt::format("acquire {} {}", request.pool, to_json_text(like, Written::Kept));
}

// What a key was given for, if it is still there.
std::optional<SandboxView> find_made(SandboxTable& table, const std::string& tenant,
                                     const std::optional<std::string>& op) {
  if (!op) return std::nullopt;
  const auto found =
      table.those([&](const Held& held) { return held.op == *op && held.tenant == tenant; });
  if (found.empty()) return std::nullopt;
  return SandboxTable::view(found.front());
}

Result<> check_network(const AcquireRequest& request) {
  if (request.network.empty() || request.network == "none") return {};
  return failure(
      ErrorCode::Unsupported,
      fmt::format("network '{:.80}': sandboxes of this backend reach nothing; \"none\" is "
                  "all that there is",
                  request.network));
}

// A pool that others use too is not a tenant's to empty.
Result<> check_tends(Pools& pools, const Caller& caller, const std::string& name) {
  if (caller.host_files == HostFiles::Allowed) return {};
  if (TRY(pools.is_for_alone(caller.tenant, name))) return {};
  return failure(ErrorCode::PermissionDenied,
                 fmt::format("pool '{}' is not yours alone: it is warmed and drained on the "
                             "daemon's own socket",
                             name));
}

}  // namespace

Service::Service(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Service::~Service() = default;

Result<std::unique_ptr<Service>> Service::open(ServiceOptions options) {
  StateDirectory directory = TRY(StateDirectory::open(options.state_directory));
  if (options.audit.directory.empty()) options.audit.directory = directory / "audit";
  auto chains = TRY(audit::Chains::open(options.audit, options.rules.local_tenant, options.notice));
  const Seal seal =
      TRY(Seal::open(options.key_file.empty() ? directory / "state.key" : options.key_file));
  auto database = TRY(Database::open(directory / "state.db"));
  auto parts = std::make_unique<Parts>(std::move(options), std::move(directory), seal,
                                       std::move(database), std::move(chains));
  TRY(parts->start());
  return std::unique_ptr<Service>(new Service(std::move(parts)));
}

void Service::drain(const Deadline& deadline) {
  std::unique_lock lock(parts_->work_mutex);
  parts_->is_draining = true;
  while (parts_->work > 0 && !deadline.has_passed())
    parts_->work_done.wait_for(lock, std::chrono::milliseconds(50));
}

void Service::stop_waiting() {
  parts_->pools.stop_waiting();
}

void Service::set_rules(TenantRules rules) {
  parts_->rules.replace(std::move(rules));
  parts_->accounts.follow_rules();
}

// ---- Sandboxes ----------------------------------------------------------------------------------

Result<SandboxView> Service::create(const Caller& caller, const CreateRequest& request) {
  const auto work = TRY(parts_->begin_work());
  const std::string& key = request.idempotency_key;
  const auto lock = parts_->idempotency.lock(caller.tenant, key);
  const std::string text = to_json_text(request.spec, Written::Kept);
  const auto before = TRY(parts_->idempotency.find(caller.tenant, key, text));
  if (auto made = find_made(parts_->table, caller.tenant, before)) return std::move(*made);
  auto made = parts_->operations.run(
      caller, {"create", {}, parts_->operations.describe(request.spec)},
      [&](Operation& operation) -> Result<SandboxView> {
        const std::string op = random_id(16);
        TRY(parts_->idempotency.note(caller.tenant, key, text, op));
        operation.subject.sandbox =
            TRY(parts_->sandboxes.make({.spec = request.spec,
                                        .caller = caller,
                                        .op = op,
                                        .ends_with_service = request.ends_with_service}));
        return find(caller, operation.subject.sandbox);
      });
  fault_point("create.told");
  if (!made) parts_->idempotency.forget(caller.tenant, key);
  return made;
}

Result<SandboxView> Service::find(const Caller& caller, const std::string& id) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  const auto held = parts_->table.copy_of(grip.id);
  if (!held) return no_such_sandbox(id);
  return SandboxTable::view(*held);
}

Result<SandboxPage> Service::list(const Caller& caller, const ListRequest& request) {
  return parts_->table.list(caller.tenant, request);
}

Result<> Service::destroy(const Caller& caller, const std::string& id) {
  auto ended = parts_->operate(caller, id, "destroy", {}, [&](const Grip& grip, Operation&) {
    return parts_->sandboxes.end(grip.id, kDestroyed);
  });
  fault_point("destroy.told");
  return ended;
}

Result<SandboxView> Service::pause(const Caller& caller, const std::string& id) {
  return parts_->operate(caller, id, "pause", {},
                         [&](const Grip& grip, Operation&) -> Result<SandboxView> {
                           TRY(parts_->sandboxes.pause(grip.id, Pausing::UntilResumed));
                           return find(caller, grip.id);
                         });
}

Result<SandboxView> Service::resume(const Caller& caller, const std::string& id) {
  return parts_->operate(caller, id, "resume", {},
                         [&](const Grip& grip, Operation&) -> Result<SandboxView> {
                           TRY(parts_->sandboxes.resume(grip.id));
                           return find(caller, grip.id);
                         });
}

Result<SandboxView> Service::extend(const Caller& caller, const std::string& id,
                                    std::chrono::milliseconds ttl) {
  return parts_->operate(caller, id, "extend", {"ttl_ms", std::to_string(ttl.count())},
                         [&](const Grip& grip, Operation&) -> Result<SandboxView> {
                           TRY(parts_->sandboxes.extend(grip.id, ttl));
                           return find(caller, grip.id);
                         });
}

Result<SandboxSpec> Service::spec_of(const Caller& caller, const std::string& id) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  const auto held = parts_->table.copy_of(grip.id);
  if (!held) return no_such_sandbox(id);
  SandboxSpec spec = held->spec;
  spec.environment = TRY(TRY(parts_->runtime.backend_of(grip.id))->environment_of(grip.id));
  return spec;
}

Result<SandboxStats> Service::stats(const Caller& caller, const std::string& id) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  return parts_->runtime.stats(grip.id);
}

Result<Protections> Service::check(const Caller& caller, const SandboxSpec& spec) {
  return parts_->runtime.check(TRY(admit_spec(*parts_->rules.get(), caller, spec)));
}

// ---- Execs --------------------------------------------------------------------------------------

OutputRoom Service::output_room(const Caller& caller) {
  return {parts_->accounts.of(caller.tenant, Resource::OutputMemory),
          parts_->rules.get()->bounds.collected_bytes};
}

Result<ExecReply> Service::exec(const Caller& caller, const std::string& id,
                                const ExecRequest& request, const ExecOptions& options,
                                wire::ExecIo& io) {
  const auto work = TRY(parts_->begin_work());
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  if (options.idempotency_key.empty()) return parts_->execs.run(caller, grip, request, options, io);
  return parts_->detached.run_once(caller, grip, request, options, io);
}

Result<ExecState> Service::start_exec(const Caller& caller, const std::string& id,
                                      const ExecRequest& request, const ExecOptions& options) {
  const auto work = TRY(parts_->begin_work());
  return parts_->detached.start(caller, TRY(parts_->table.find(caller.tenant, id)), request,
                                options.idempotency_key);
}

Result<ExecState> Service::find_exec(const Caller& caller, const std::string& id,
                                     const std::string& exec_id) {
  return TRY(parts_->detached.find(caller.tenant, id, exec_id))->state();
}

Result<ExecState> Service::follow_exec(const Caller& caller, const std::string& id,
                                       const std::string& exec_id, const ExecOffsets& from,
                                       const Deadline& deadline, wire::ExecIo& io) {
  return TRY(parts_->detached.find(caller.tenant, id, exec_id))->follow(from, deadline, io);
}

Result<> Service::signal_exec(const Caller& caller, const std::string& id,
                              const std::string& exec_id, const wire::ExecEvent& event) {
  const auto exec = TRY(parts_->detached.find(caller.tenant, id, exec_id));
  const auto& identity = exec->identity();
  return parts_->operations.run(caller,
                                {"signal",
                                 {identity.sandbox, identity.session, {}},
                                 parts_->operations.describe_text("exec_id", identity.exec_id, {})},
                                [&](Operation&) -> Result<> {
                                  exec->send(event);
                                  return {};
                                });
}

Result<ToolReply> Service::call_tool(const Caller& caller, const std::string& id,
                                     const std::string& tool, const nlohmann::json& arguments,
                                     const ToolRunnerOptions& options) {
  const auto work = TRY(parts_->begin_work());
  return parts_->execs.call_tool(caller, TRY(parts_->table.find(caller.tenant, id)), tool,
                                 arguments, options);
}

// ---- Sessions -----------------------------------------------------------------------------------

Result<SessionView> Service::ensure_session(const Caller& caller, const SessionRequest& request) {
  const auto work = TRY(parts_->begin_work());
  return parts_->operations.run(
      caller, {"session", {{}, request.name, {}}, parts_->operations.describe(request.spec)},
      [&](Operation& operation) -> Result<SessionView> {
        SessionRequest admitted = request;
        admitted.spec = TRY(admit_spec(*parts_->rules.get(), caller, request.spec));
        SessionView view = TRY(parts_->sessions.ensure(caller, admitted));
        operation.subject.sandbox = view.sandbox_id;
        return view;
      });
}

Result<SessionView> Service::find_session(const Caller& caller, const std::string& name) {
  return parts_->sessions.find(caller, name);
}

Result<SessionPage> Service::list_sessions(const Caller& caller, const ListRequest& request) {
  return parts_->sessions.list(caller, request);
}

Result<SessionView> Service::renew_session(const Caller& caller, const std::string& name,
                                           std::chrono::milliseconds lease) {
  return parts_->sessions.renew(caller, name, lease);
}

Result<> Service::end_session(const Caller& caller, const std::string& name) {
  return parts_->operations.run(caller, {"end session", {{}, name, {}}},
                                [&](Operation&) { return parts_->sessions.end(caller, name); });
}

Result<> Service::forget_workspace(const Caller& caller, const std::string& name) {
  return parts_->operations.run(caller, {"forget workspace", {{}, name, {}}}, [&](Operation&) {
    return parts_->sessions.forget_workspace(caller, name);
  });
}

// ---- Pools --------------------------------------------------------------------------------------

Result<> Service::define_pool(const PoolSpec& spec) {
  return parts_->pools.define(spec);
}

void Service::retire_pools_but(const std::set<std::string>& names) {
  parts_->pools.retire_all_but(names);
}

Result<std::vector<PoolStatus>> Service::pools(const Caller& caller) {
  return parts_->pools.status(caller.tenant);
}

Result<SandboxView> Service::acquire(const Caller& caller, const AcquireRequest& request) {
  const auto work = TRY(parts_->begin_work());
  if (!request.workspace.empty() && caller.host_files == HostFiles::Denied) {
    return failure(ErrorCode::PermissionDenied,
                   "a workspace is for clients on the daemon's own socket: copy files in instead");
  }
  const std::string& key = request.idempotency_key;
  const auto lock = parts_->idempotency.lock(caller.tenant, key);
  const std::string text = key.empty() ? std::string() : encode_acquire(request);
  const auto before = TRY(parts_->idempotency.find(caller.tenant, key, text));
  // A sandbox that was given back, or never handed out, is not it: the key gets another one.
  if (auto held = find_made(parts_->table, caller.tenant, before)) return std::move(*held);
  const auto note_key = [&](const std::string& op) {
    return parts_->idempotency.note(caller.tenant, key, text, op);
  };
  auto acquired = parts_->operations.run(
      caller, {"acquire", {}, parts_->operations.describe(request)},
      [&](Operation& operation) -> Result<SandboxView> {
        TRY(check_network(request));
        operation.subject.sandbox = TRY(parts_->pools.acquire(caller.tenant, request, note_key));
        return find(caller, operation.subject.sandbox);
      });
  fault_point("acquire.told");
  if (!acquired) parts_->idempotency.forget(caller.tenant, key);
  return acquired;
}

Result<> Service::release(const Caller& caller, const std::string& id) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  if (grip.pool.empty()) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("sandbox {} is of no pool: destroy it instead", grip.id));
  }
  auto released = parts_->operations.run(caller, {"release", subject_of(grip)}, [&](Operation&) {
    return parts_->pools.release(grip.id);
  });
  fault_point("release.told");
  return released;
}

Result<Limits> Service::pool_limits(const Caller& caller, const std::string& name) {
  return parts_->pools.limits_of(caller.tenant, name);
}

Result<PoolStatus> Service::warm_pool(const Caller& caller, const std::string& name,
                                      const Deadline& deadline) {
  TRY(check_tends(parts_->pools, caller, name));
  return parts_->operations.run(
      caller, {"warm pool", {}, parts_->operations.describe_text("pool", name, {})},
      [&](Operation&) { return parts_->pools.warm(caller.tenant, name, deadline); });
}

Result<std::uint32_t> Service::drain_pool(const Caller& caller, const std::string& name) {
  TRY(check_tends(parts_->pools, caller, name));
  return parts_->operations.run(
      caller, {"drain pool", {}, parts_->operations.describe_text("pool", name, {})},
      [&](Operation&) { return parts_->pools.drain(caller.tenant, name); });
}

}  // namespace nutshell::service
