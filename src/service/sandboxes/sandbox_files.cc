#include "service/sandboxes/sandbox_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fault_point.h"
#include "runtime/workspace_changes.h"
#include "service/evidence/stream_hash.h"
#include "service/sandboxes/charged_changes.h"

namespace nutshell::service {

Result<wire::FileInfo> SandboxFiles::stat(const Caller& caller, const std::string& id,
                                          const std::string& path) {
  const SandboxRef ref = TRY(uses_.table.find(caller.tenant, id));
  return with_init(ref, [&path](wire::InitClient& client) { return client.stat(path); });
}

Result<> SandboxFiles::read(const Caller& caller, const std::string& id,
                            const wire::ReadFile& request, const wire::InitClient::Sink& sink) {
  const auto work = TRY(uses_.gate.begin());
  return uses_.operations.run(caller, id, "read file", {"path", request.path},
                              [&](const SandboxRef& ref, Operation& operation) {
                                StreamHash hash;
                                auto done = with_init(ref, [&](wire::InitClient& client) {
                                  return client.read_file(request, [&](std::string_view bytes) {
                                    hash.add(bytes);
                                    return sink(bytes);
                                  });
                                });
                                operation.ending.output_bytes = hash.bytes();
                                operation.ending.output_sha256 = hash.hex();
                                return done;
                              });
}

Result<> SandboxFiles::write(const Caller& caller, const std::string& id,
                             const wire::WriteFile& request,
                             const wire::InitClient::Source& source) {
  const auto work = TRY(uses_.gate.begin());
  return uses_.operations.run(caller, id, "write file", {"path", request.path},
                              [&](const SandboxRef& ref, Operation& operation) {
                                fault_point("copy.recorded");
                                StreamHash hash;
                                auto done = with_init(ref, [&](wire::InitClient& client) {
                                  return client.write_file(
                                      request, [&](std::size_t most) -> Result<std::string> {
                                        std::string bytes = TRY(source(most));
                                        hash.add(bytes);
                                        fault_point("copy.part");
                                        return bytes;
                                      });
                                });
                                fault_point("copy.done");
                                operation.ending.input_sha256 = hash.hex();
                                return done;
                              });
}

Result<> SandboxFiles::walk(const Caller& caller, const std::string& id, const std::string& path,
                            const wire::InitClient::Visitor& visit) {
  const SandboxRef ref = TRY(uses_.table.find(caller.tenant, id));
  return with_init(ref, [&](wire::InitClient& client) { return client.walk(path, visit); });
}

Result<> SandboxFiles::make_directory(const Caller& caller, const std::string& id,
                                      const wire::MakeDirectory& request) {
  const auto make = [&](wire::InitClient& client) { return client.make_directory(request); };
  return uses_.operations.run(
      caller, id, "make directory", {"path", request.path},
      [&](const SandboxRef& ref, Operation&) { return with_init(ref, make); });
}

Result<> SandboxFiles::remove(const Caller& caller, const std::string& id,
                              const wire::Remove& request) {
  const auto remove = [&](wire::InitClient& client) -> Result<> {
    const auto answer = TRY(client.call<wire::Changed>(request));
    const auto* refused = std::get_if<wire::Refused>(&answer);
    if (refused == nullptr) return {};
    return failure(refused->code,
                   fmt::format("{} {} {}", refused->what, refused->why, refused->next));
  };
  return uses_.operations.run(
      caller, id, "remove file", {"path", request.path},
      [&](const SandboxRef& ref, Operation&) { return with_init(ref, remove); });
}

Result<ChangeList> SandboxFiles::changes(const Caller& caller, const std::string& id) {
  const SandboxRef ref = TRY(uses_.table.find(caller.tenant, id));
  return with_init(ref, [&](wire::InitClient& client) -> Result<ChangeList> {
    auto listed = TRY(list_changes(uses_.accounts, caller.tenant, client));
    auto sorted = TRY(judge_workspace(client, std::move(listed.changes)));
    ChangeList list{std::move(sorted.wanted), std::move(listed.memory)};
    for (JudgedChange& one : sorted.held)
      list.changes.push_back(std::move(one));
    std::sort(list.changes.begin(), list.changes.end(),
              [](const auto& a, const auto& b) { return a.change.path < b.change.path; });
    return list;
  });
}

Result<std::vector<TrustVerdict>> SandboxFiles::judge_entries(
    const Caller& caller, const std::string& id, const std::string& directory,
    const std::vector<wire::FileInfo>& entries) {
  const SandboxRef ref = TRY(uses_.table.find(caller.tenant, id));
  return with_init(
      ref, [&](wire::InitClient& client) { return judge_listing(client, directory, entries); });
}

Result<ApplyReport> SandboxFiles::apply(const Caller& caller, const std::string& id,
                                        const ApplyOptions& options) {
  const auto work = TRY(uses_.gate.begin());
  if (caller.host_files == HostFiles::Denied) {
    TRY(uses_.table.find(caller.tenant,
                         id));  // for another tenant's sandbox the error is "not found"
    return failure(ErrorCode::PermissionDenied,
                   "apply writes to the host: it is for clients on the daemon's own socket");
  }
  return uses_.operations.run(caller, id, "apply", {},
                              [&](const SandboxRef& ref, Operation&) -> Result<ApplyReport> {
                                const auto used = uses_.table.use(ref.id);
                                TRY(uses_.sandboxes.wake(ref.id));
                                fault_point("apply.recorded");
                                auto report = apply_workspace(uses_.runtime, ref.id, options);
                                fault_point("apply.done");
                                return report;
                              });
}

Result<std::string> SandboxFiles::checkpoint(const Caller& caller, const std::string& id,
                                             Running running) {
  return uses_.operations.run(caller, id, "checkpoint", {},
                              [&](const SandboxRef& ref, Operation&) -> Result<std::string> {
                                const auto used = uses_.table.use(ref.id);
                                TRY(uses_.sandboxes.wake(ref.id));
                                return checkpoint_workspace(uses_.runtime, ref.id, running);
                              });
}

Result<> SandboxFiles::rollback(const Caller& caller, const std::string& id,
                                const std::string& checkpoint, Running running) {
  constexpr std::size_t kMostName = 128;
  if (checkpoint.size() > kMostName)
    return failure(ErrorCode::InvalidArgument, "the name of a checkpoint has at most 128 bytes");
  return uses_.operations.run(caller, id, "rollback", {"checkpoint", checkpoint},
                              [&](const SandboxRef& ref, Operation&) -> Result<> {
                                const auto used = uses_.table.use(ref.id);
                                TRY(uses_.sandboxes.wake(ref.id));
                                return rollback_workspace(uses_.runtime, ref.id, checkpoint,
                                                          running);
                              });
}

}  // namespace nutshell::service
