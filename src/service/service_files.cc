// Files and workspaces of sandboxes.
#include <fmt/format.h>

#include <algorithm>

#include "base/fault_point.h"
#include "core/workspace_volume.h"
#include "runtime/workspace_changes.h"
#include "service/service.h"
#include "service/service_parts.h"
#include "service/stream_hash.h"

namespace nutshell::service {
namespace {

Subject subject_of(const Grip& grip) {
  return {grip.id, grip.session, grip.secrets};
}

template <typename T>
Ending ending_of(const Result<T>& result) {
  Ending ending;
  if (result) return ending;
  ending.outcome = fmt::format("failed: {}", to_string(result.error().code));
  ending.detail = result.error().message;
  return ending;
}

// Over a stream that is kept for the next call when all went well.
template <typename Step>
auto over_connection(Service::Parts& parts, const Grip& grip, const Step& step)
    -> decltype(step(std::declval<wire::InitClient&>())) {
  const auto used = parts.table.use(grip.id);
  TRY(parts.execs.wake(grip));
  return parts.runtime.with_init(grip.id, step);
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
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  const Act act = TRY(
      parts_->recorder.begin(caller, "read file", subject_of(grip),
                             parts_->recorder.describe_text("path", request.path, grip.secrets)));
  StreamHash hash;
  auto done = over_connection(*parts_, grip, [&](wire::InitClient& client) {
    return client.read_file(request, [&](std::string_view bytes) {
      hash.add(bytes);
      return sink(bytes);
    });
  });
  Ending ending = ending_of(done);
  ending.output_bytes = hash.bytes();
  ending.output_sha256 = hash.hex();
  parts_->recorder.end(act, ending);
  return done;
}

Result<> Service::write_file(const Caller& caller, const std::string& id,
                             const wire::WriteFile& request,
                             const wire::InitClient::Source& source) {
  const auto work = TRY(parts_->begin_work());
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  const Act act = TRY(
      parts_->recorder.begin(caller, "write file", subject_of(grip),
                             parts_->recorder.describe_text("path", request.path, grip.secrets)));
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
  Ending ending = ending_of(done);
  ending.input_sha256 = hash.hex();
  parts_->recorder.end(act, ending);
  return done;
}

Result<> Service::walk(const Caller& caller, const std::string& id, const std::string& path,
                       const wire::InitClient::Visitor& visit) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  return over_connection(*parts_, grip,
                         [&](wire::InitClient& client) { return client.walk(path, visit); });
}

Result<> Service::make_directory(const Caller& caller, const std::string& id,
                                 const wire::MakeDirectory& request) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  const Act act = TRY(
      parts_->recorder.begin(caller, "make directory", subject_of(grip),
                             parts_->recorder.describe_text("path", request.path, grip.secrets)));
  auto done = over_connection(
      *parts_, grip, [&](wire::InitClient& client) { return client.make_directory(request); });
  parts_->recorder.end(act, ending_of(done));
  return done;
}

Result<> Service::remove_file(const Caller& caller, const std::string& id,
                              const wire::Remove& request) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  const Act act = TRY(
      parts_->recorder.begin(caller, "remove file", subject_of(grip),
                             parts_->recorder.describe_text("path", request.path, grip.secrets)));
  auto done = over_connection(*parts_, grip, [&](wire::InitClient& client) -> Result<> {
    const auto answer = TRY(client.call<wire::Changed>(request));
    const auto* refused = std::get_if<wire::Refused>(&answer);
    if (refused == nullptr) return {};
    const bool is_missing = refused->code == "no_such_file";
    return failure(is_missing ? ErrorCode::NotFound : ErrorCode::InvalidArgument,
                   fmt::format("{} {} {}", refused->what, refused->why, refused->next));
  });
  parts_->recorder.end(act, ending_of(done));
  return done;
}

// ---- Workspaces ---------------------------------------------------------------------------------

Result<std::vector<JudgedChange>> Service::changes(const Caller& caller, const std::string& id) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  return over_connection(
      *parts_, grip, [](wire::InitClient& client) -> Result<std::vector<JudgedChange>> {
        auto sorted = TRY(judge_workspace(client, TRY(list_workspace_changes(client))));
        std::vector<JudgedChange> all = std::move(sorted.wanted);
        for (JudgedChange& one : sorted.held)
          all.push_back(std::move(one));
        std::sort(all.begin(), all.end(),
                  [](const auto& a, const auto& b) { return a.change.path < b.change.path; });
        return all;
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
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  if (caller.host_files == HostFiles::Denied) {
    return failure(ErrorCode::PermissionDenied,
                   "apply writes to the host: it is for clients on the daemon's own socket");
  }
  const auto used = parts_->table.use(grip.id);
  TRY(parts_->execs.wake(grip));
  const Act act = TRY(parts_->recorder.begin(caller, "apply", subject_of(grip)));
  fault_point("apply.recorded");
  auto report = apply_workspace(parts_->runtime, grip.id, options);
  fault_point("apply.done");
  parts_->recorder.end(act, ending_of(report));
  return report;
}

Result<std::string> Service::checkpoint(const Caller& caller, const std::string& id,
                                        Running running) {
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  const auto used = parts_->table.use(grip.id);
  TRY(parts_->execs.wake(grip));
  const Act act = TRY(parts_->recorder.begin(caller, "checkpoint", subject_of(grip)));
  auto name = checkpoint_workspace(parts_->runtime, grip.id, running);
  parts_->recorder.end(act, ending_of(name));
  return name;
}

Result<> Service::rollback(const Caller& caller, const std::string& id,
                           const std::string& checkpoint, Running running) {
  constexpr std::size_t kMostName = 128;
  if (checkpoint.size() > kMostName)
    return failure(ErrorCode::InvalidArgument, "the name of a checkpoint has at most 128 bytes");
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  const auto used = parts_->table.use(grip.id);
  TRY(parts_->execs.wake(grip));
  const Act act =
      TRY(parts_->recorder.begin(caller, "rollback", subject_of(grip),
                                 parts_->recorder.describe_text("checkpoint", checkpoint, {})));
  auto done = rollback_workspace(parts_->runtime, grip.id, checkpoint, running);
  parts_->recorder.end(act, ending_of(done));
  return done;
}

Result<SandboxView> Service::fork(const Caller& caller, const std::string& id) {
  const auto work = TRY(parts_->begin_work());
  const Grip grip = TRY(parts_->table.find(caller.tenant, id));
  const auto used = parts_->table.use(grip.id);
  TRY(parts_->execs.wake(grip));
  SandboxSpec spec = TRY(spec_of(caller, grip.id));
  if (is_volume(spec.workspace)) spec.workspace.clear();  // two would write to the same files
  Act act = TRY(parts_->recorder.begin(caller, "fork", subject_of(grip)));
  auto made = parts_->sandboxes.make({spec, caller.tenant, {}, {}, {}});
  Result<> copied;
  if (made) {
    act.subject.sandbox = *made;
    copied = copy_workspace(parts_->runtime, grip.id, *made);
    if (!copied) (void)parts_->sandboxes.end(*made, "half a copy is none");
  }
  parts_->recorder.end(act, made ? ending_of(copied) : ending_of(made));
  if (!made) return Failure(std::move(made).error());
  TRY(std::move(copied));
  return find(caller, *made);
}

}  // namespace nutshell::service
