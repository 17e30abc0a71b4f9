// Create, Destroy, List, Pause, Unpause, Gc and the pools.
#include <fmt/format.h>

#include "roche/v1/sandbox.pb.h"
#include "server/grpc/roche/roche_methods.h"
#include "service/pools/pools.h"

namespace nutshell::server {
namespace {

namespace v1 = ::roche::v1;

constexpr auto kWarmTime = std::chrono::seconds(60);

Result<> refuse_host_files(const service::Caller& caller, const SandboxSpec& spec) {
  if (caller.host_files == service::HostFiles::Allowed) return {};
  if (spec.mounts.empty() && spec.unsafe_mounts.empty() && !spec.image.starts_with('/')) return {};
  return failure(ErrorCode::PermissionDenied,
                 "only callers on the daemon's own machine and of its user may name files of it");
}

Result<roche::SandboxRequest> request_of(const v1::CreateRequest& message) {
  roche::SandboxRequest request;
  request.provider = message.provider();
  request.image = message.image();
  if (message.has_memory()) request.memory = message.memory();
  if (message.has_cpus()) request.cpus = message.cpus();
  request.timeout_seconds = message.timeout_secs();
  request.has_network = message.network();
  request.is_writable = message.writable();
  for (const auto& [name, value] : message.env()) {
    if (name.empty() || name.find('=') != std::string::npos) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("'{}' cannot be the name of a variable", name));
    }
    request.environment.push_back(name + "=" + value);
  }
  for (const v1::MountConfig& mount : message.mounts())
    request.mounts.push_back({mount.host_path(), mount.container_path(), mount.readonly()});
  request.kernel = message.kernel();
  request.root_file_system = message.rootfs();
  request.allowed_hosts.assign(message.network_allowlist().begin(),
                               message.network_allowlist().end());
  request.writable_paths.assign(message.fs_paths().begin(), message.fs_paths().end());
  return request;
}

Result<> create(RpcCall& call, const roche::Choices& choices) {
  const auto request = TRY(request_of(static_cast<const v1::CreateRequest&>(call.request)));
  const auto check = [&](const SandboxSpec& spec) -> Result<> {
    TRY(refuse_host_files(call.caller, spec));
    TRY(call.service.check(call.caller, spec));
    return {};
  };
  service::CreateRequest wanted;
  wanted.spec = TRY(roche::spec_of(request, choices, check));
  wanted.idempotency_key = call.idempotency_key();
  const auto view = TRY(call.service.create(call.caller, wanted));
  if (call.rpc.is_gone() && wanted.idempotency_key.empty()) {  // nobody will ever learn its id
    (void)call.service.destroy(call.caller, view.id);
    return failure(ErrorCode::Cancelled, "the client is gone");
  }
  static_cast<v1::CreateResponse&>(call.reply).set_sandbox_id(view.id);
  return {};
}

Result<std::vector<roche::SandboxInfo>> all_of(RpcCall& call) {
  std::vector<roche::SandboxInfo> all;
  service::ListRequest request;
  request.labels = roche::own_labels();
  request.most = 1000;
  do {
    const auto page = TRY(call.service.list(call.caller, request));
    for (const service::SandboxView& view : page.sandboxes)
      all.push_back(roche::info_of(view));
    request.cursor = page.next_cursor;
  } while (!request.cursor.empty());
  return all;
}

// Those that are there no more are left out, as Roche does; another error ends the call.
Result<> destroy_each(RpcCall& call, const std::vector<std::string>& ids,
                      google::protobuf::RepeatedPtrField<std::string>& destroyed) {
  for (const std::string& id : ids) {
    const auto done = call.service.destroy(call.caller, id);
    if (done) *destroyed.Add() = id;
    if (!done && done.error().code != ErrorCode::NotFound) return Failure(done.error());
  }
  return {};
}

Result<> list(RpcCall& call) {
  const auto& request = static_cast<const v1::ListRequest&>(call.request);
  auto& reply = static_cast<v1::ListResponse&>(call.reply);
  for (const roche::SandboxInfo& info : TRY(all_of(call))) {
    if (!roche::is_of_provider(info, request.provider())) continue;
    v1::SandboxInfo& one = *reply.add_sandboxes();
    one.set_id(info.id);
    one.set_status(info.status == "paused" ? v1::SANDBOX_STATUS_PAUSED
                                           : v1::SANDBOX_STATUS_RUNNING);
    one.set_provider(info.provider);
    one.set_image(info.image);
    one.set_expires_at(static_cast<std::uint64_t>(info.expires_at));
  }
  return {};
}

Result<std::vector<std::string>> ids_of(RpcCall& call, const std::string& provider) {
  std::vector<std::string> ids;
  for (const roche::SandboxInfo& info : TRY(all_of(call)))
    if (roche::is_of_provider(info, provider)) ids.push_back(info.id);
  return ids;
}

Result<> destroy(RpcCall& call) {
  const auto& request = static_cast<const v1::DestroyRequest&>(call.request);
  std::vector<std::string> ids(request.sandbox_ids().begin(), request.sandbox_ids().end());
  if (request.all()) ids = TRY(ids_of(call, request.provider()));
  return destroy_each(call, ids,
                      *static_cast<v1::DestroyResponse&>(call.reply).mutable_destroyed_ids());
}

// Sandboxes end by themselves when their time is over, so nothing expired is ever left.
Result<> collect(RpcCall& call) {
  const auto& request = static_cast<const v1::GcRequest&>(call.request);
  auto& ids = *static_cast<v1::GcResponse&>(call.reply).mutable_destroyed_ids();
  if (!request.all()) return {};
  const auto all = TRY(ids_of(call, request.provider()));
  if (!request.dry_run()) return destroy_each(call, all, ids);
  ids.Assign(all.begin(), all.end());
  return {};
}

Result<> pause(RpcCall& call) {
  const auto& request = static_cast<const v1::PauseRequest&>(call.request);
  TRY(call.service.pause(call.caller, request.sandbox_id()));
  return {};
}

Result<> unpause(RpcCall& call) {
  const auto& request = static_cast<const v1::UnpauseRequest&>(call.request);
  TRY(call.service.resume(call.caller, request.sandbox_id()));
  return {};
}

// A pool here has a name, and not the pair of a provider and an image.
Result<> pool_status(RpcCall& call) {
  auto& reply = static_cast<v1::PoolStatusResponse&>(call.reply);
  for (const service::PoolStatus& status : call.service.pools().status(call.caller)) {
    v1::PoolInfo& one = *reply.add_pools();
    one.set_provider("pool");
    one.set_image(status.name);
    one.set_idle_count(status.available);
    one.set_active_count(status.in_use);
    one.set_max_idle(status.max_idle);
    one.set_max_total(status.max_total);
  }
  return {};
}

Result<> pool_warmup(RpcCall& call) {
  const Deadline deadline = Deadline::in(kWarmTime);
  for (const service::PoolStatus& status : call.service.pools().status(call.caller))
    TRY(call.service.pools().warm(call.caller, status.name, deadline));
  return {};
}

Result<> pool_drain(RpcCall& call) {
  std::uint32_t count = 0;
  for (const service::PoolStatus& status : call.service.pools().status(call.caller))
    count += TRY(call.service.pools().drain(call.caller, status.name));
  static_cast<v1::PoolDrainResponse&>(call.reply).set_destroyed_count(count);
  return {};
}

}  // namespace

std::vector<Method> roche_sandbox_methods(const roche::Choices& choices) {
  return {{"Create", [choices](RpcCall& call) { return create(call, choices); }},
          {"List", list},
          {"Destroy", destroy},
          {"Gc", collect},
          {"Pause", pause},
          {"Unpause", unpause},
          {"PoolStatus", pool_status},
          {"PoolWarmup", pool_warmup},
          {"PoolDrain", pool_drain}};
}

}  // namespace nutshell::server
