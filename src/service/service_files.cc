// Files and workspaces of sandboxes.
#include <fmt/format.h>

#include <algorithm>

#include "base/fault_point.h"
#include "core/workspace_volume.h"
#include "runtime/workspace_changes.h"
#include "service/evidence/stream_hash.h"
#include "service/service.h"
#include "service/service_parts.h"

namespace nutshell::service {
namespace {

// Over a stream that is kept for the next call when all went well.
template <typename Step>
auto over_connection(Service::Parts& parts, const Grip& grip, const Step& step)
    -> decltype(step(std::declval<wire::InitClient&>())) {
  const auto used = parts.table.use(grip.id);
  TRY(parts.execs.wake(grip));
  return parts.runtime.with_init(grip.id, step);
}

// Keeps the sandbox awake and in use meanwhile.
template <typename Step>
auto while_used(Service::Parts& parts, const Grip& grip, const Step& step) -> decltype(step()) {
  const auto used = parts.table.use(grip.id);
  TRY(parts.execs.wake(grip));
  return step();
}

}  // namespace

Result<wire::FileInfo> Service::stat(const Caller& caller, const std::string& id,
                                     const std::string& path) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  return over_connection(*parts_, grip,
                         [&path](wire::InitClient& client) { return client.stat(path); });
}

Result<> Service::read_file(const Caller& caller, const std::string& id,
                            const wire::ReadFile& request, const wire::InitClient::Sink& sink) {
  const auto work = TRY(parts_->begin_work());
  return parts_->operate(
      caller, id, "read file", {"path", request.path}, [&](const Grip& grip, Operation& operation) {
        StreamHash hash;
        auto done = over_connection(*parts_, grip, [&](wire::InitClient& client) {
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

Result<> Service::write_file(const Caller& caller, const std::string& id,
                             const wire::WriteFile& request,
                             const wire::InitClient::Source& source) {
  const auto work = TRY(parts_->begin_work());
  return parts_->operate(
      caller, id, "write file", {"path", request.path},
      [&](const Grip& grip, Operation& operation) {
        fault_point("copy.recorded");
        StreamHash hash;
        auto done = over_connection(*parts_, grip, [&](wire::InitClient& client) {
          return client.write_file(request, [&](std::size_t most) -> Result<std::string> {
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

Result<> Service::walk(const Caller& caller, const std::string& id, const std::string& path,
                       const wire::InitClient::Visitor& visit) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  return over_connection(*parts_, grip,
                         [&](wire::InitClient& client) { return client.walk(path, visit); });
}

Result<> Service::make_directory(const Caller& caller, const std::string& id,
                                 const wire::MakeDirectory& request) {
  const auto make = [&](wire::InitClient& client) { return client.make_directory(request); };
  return parts_->operate(
      caller, id, "make directory", {"path", request.path},
      [&](const Grip& grip, Operation&) { return over_connection(*parts_, grip, make); });
}

Result<> Service::remove_file(const Caller& caller, const std::string& id,
                              const wire::Remove& request) {
  const auto remove = [&](wire::InitClient& client) -> Result<> {
    const auto answer = TRY(client.call<wire::Changed>(request));
    const auto* refused = std::get_if<wire::Refused>(&answer);
    if (refused == nullptr) return {};
    return failure(refused->code,
                   fmt::format("{} {} {}", refused->what, refused->why, refused->next));
  };
  return parts_->operate(
      caller, id, "remove file", {"path", request.path},
      [&](const Grip& grip, Operation&) { return over_connection(*parts_, grip, remove); });
}

// ---- Workspaces ---------------------------------------------------------------------------------

Result<ChangeList> Service::changes(const Caller& caller, const std::string& id) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  return over_connection(*parts_, grip, [&](wire::InitClient& client) -> Result<ChangeList> {
    auto listed = TRY(list_changes(parts_->accounts, caller.tenant, client));
    auto sorted = TRY(judge_workspace(client, std::move(listed.changes)));
    ChangeList list{std::move(sorted.wanted), std::move(listed.charge)};
    for (JudgedChange& one : sorted.held)
      list.changes.push_back(std::move(one));
    std::sort(list.changes.begin(), list.changes.end(),
              [](const auto& a, const auto& b) { return a.change.path < b.change.path; });
    return list;
  });
}

Result<std::vector<TrustVerdict>> Service::judge_entries(
    const Caller& caller, const std::string& id, const std::string& directory,
    const std::vector<wire::FileInfo>& entries) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  return over_connection(*parts_, grip, [&](wire::InitClient& client) {
    return judge_listing(client, directory, entries);
  });
}

Result<ApplyReport> Service::apply(const Caller& caller, const std::string& id,
                                   const ApplyOptions& options) {
  const auto work = TRY(parts_->begin_work());
  if (caller.host_files == HostFiles::Denied) {
    TRY(parts_->table.find(caller.tenant, id));  // another's is not found, whoever asks
    return failure(ErrorCode::PermissionDenied,
                   "apply writes to the host: it is for clients on the daemon's own socket");
  }
  return parts_->operate(caller, id, "apply", {}, [&](const Grip& grip, Operation&) {
    return while_used(*parts_, grip, [&] {
      fault_point("apply.recorded");
      auto report = apply_workspace(parts_->runtime, grip.id, options);
      fault_point("apply.done");
      return report;
    });
  });
}

Result<std::string> Service::checkpoint(const Caller& caller, const std::string& id,
                                        Running running) {
  return parts_->operate(caller, id, "checkpoint", {}, [&](const Grip& grip, Operation&) {
    return while_used(*parts_, grip,
                      [&] { return checkpoint_workspace(parts_->runtime, grip.id, running); });
  });
}

Result<> Service::rollback(const Caller& caller, const std::string& id,
                           const std::string& checkpoint, Running running) {
  constexpr std::size_t kMostName = 128;
  if (checkpoint.size() > kMostName)
    return failure(ErrorCode::InvalidArgument, "the name of a checkpoint has at most 128 bytes");
  return parts_->operate(
      caller, id, "rollback", {"checkpoint", checkpoint}, [&](const Grip& grip, Operation&) {
        return while_used(*parts_, grip, [&] {
          return rollback_workspace(parts_->runtime, grip.id, checkpoint, running);
        });
      });
}

Result<SandboxView> Service::fork(const Caller& caller, const std::string& id) {
  const auto work = TRY(parts_->begin_work());
  const auto fork_it = [&](const Grip& grip, Operation& operation) -> Result<SandboxView> {
    const auto used = parts_->table.use(grip.id);
    TRY(parts_->execs.wake(grip));
    SandboxSpec spec = TRY(spec_of(caller, grip.id));
    if (is_volume(spec.workspace)) spec.workspace.clear();  // two would write to the same files
    const auto copy_files = [&grip](Runtime& runtime, const std::string& made) {
      fault_point("fork.made");
      return copy_workspace(runtime, grip.id, made);
    };
    operation.subject.sandbox = TRY(
        parts_->sandboxes.make({.spec = std::move(spec), .caller = caller, .prepare = copy_files}));
    return find(caller, operation.subject.sandbox);
  };
  return parts_->operate(caller, id, "fork", {}, fork_it);
}

}  // namespace nutshell::service
