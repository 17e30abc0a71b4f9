#include "runtime/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "base/deadline.h"
#include "base/fault_point.h"
#include "core/workspace_volume.h"
#include "runtime/apply_record.h"
#include "runtime/change_writer.h"
#include "runtime/lost_stream.h"
#include "wire/applied.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;
using wire::FileChange;

constexpr auto kKillTime = 5s;

// Asks init again until the killed processes are gone.
template <typename Request>
Result<wire::ChangeBegun> ask_for_layers(wire::InitClient& client, const Request& request,
                                         Running running) {
  const Deadline deadline = Deadline::in(kKillTime);
  for (;;) {
    auto answer = TRY(client.call<wire::ChangeBegun>(request));
    if (auto* begun = std::get_if<wire::ChangeBegun>(&answer)) return std::move(*begun);
    const auto& refused = std::get<wire::Refused>(answer);
    if (running == Running::Refused || deadline.has_passed()) {
      return failure(refused.code,
                     fmt::format("{} {} {}", refused.what, refused.why, refused.next));
    }
    std::this_thread::sleep_for(5ms);
  }
}

Result<> stack_layers(Runtime& runtime, const std::string& id, wire::InitClient& client,
                      const wire::ChangeBegun& begun) {
  if (begun.way == wire::ChangeWay::SameLayer) return {};
  if (begun.way != wire::ChangeWay::NewLayer) return failure(ErrorCode::Unsupported, begun.reason);
  fault_point("layers.asked");
  auto stacked = runtime.restack(id, begun.layers);
  fault_point("layers.stacked");
  // Init checks what is mounted, also when the restacking reported an error.
  auto used = client.use_layers({begun.layers});
  fault_point("layers.used");
  if (used || stacked) return used;
  return stacked;
}

std::uint8_t kills(Running running) {
  return running == Running::Killed ? 1 : 0;
}

// Reads and writes in turn, so that only a part of a file is in memory.
ChangeWriter::ReadPart reader_of(wire::InitClient& from, const std::string& path) {
  return [&from, path, offset = std::uint64_t{0}](std::size_t most) mutable -> Result<std::string> {
    std::string part;
    TRY(from.read_file({std::string(kWorkspacePath) + path, offset, most, 0},
                       [&](std::string_view bytes) -> Result<> {
                         part += bytes;
                         return {};
                       }));
    offset += part.size();
    return part;
  };
}

Result<std::int64_t> began_of(const SandboxStatus& status) {
  const std::string& digits = status.spec.workspace_began_ns;
  std::int64_t began = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), began);
  if (is_volume(status.spec.workspace)) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("the workspace of sandbox {} is a volume: there is no directory to "
                               "apply to; copy files out with 'nutshell cp'",
                               status.id));
  }
  if (began > 0 && !status.spec.workspace.empty()) return began;
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("sandbox {} was made without --workspace: there is no directory to "
                             "apply to; copy files out with 'nutshell cp'",
                             status.id));
}

// A part of a git directory cannot be left out: what is written would refer to it.
Result<std::string> excludable(std::string path) {
  const bool is_inside_git = path.starts_with(".git/") || path.find("/.git/") != std::string::npos;
  if (!is_inside_git) return path;
  return failure(
      ErrorCode::InvalidArgument,
      fmt::format("--exclude {}: a git directory can only be left out as a whole", path));
}

// Updates init's second copy of a copied workspace, with which changes are compared, to what the
// host got.
Result<> follow_apply(wire::InitClient& client, const std::vector<FileChange>& written) {
  constexpr std::size_t kMostAtOnce = 250;
  std::string left;
  for (std::size_t at = 0; at < written.size(); at += kMostAtOnce) {
    const auto begin = written.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end =
        begin + static_cast<std::ptrdiff_t>(std::min(kMostAtOnce, written.size() - at));
    auto answer = TRY(client.call<wire::Changes>(wire::Applied{{begin, end}}));
    const auto* changes = std::get_if<wire::Changes>(&answer);
    if (changes == nullptr) return failure(ErrorCode::Corrupt, "not the answer expected");
    if (left.empty() && !changes->changes.empty()) left = changes->changes.front().path;
  }
  if (left.empty()) return {};
  return failure(ErrorCode::Cancelled,
                 fmt::format("{} was written to while it was applied: apply again", left));
}

}  // namespace

Result<std::string> checkpoint_workspace(Runtime& runtime, const std::string& id, Running running) {
  return with_init_explained(runtime, id, [&](wire::InitClient& client) -> Result<std::string> {
    const auto begun = TRY(ask_for_layers(client, wire::Checkpoint{kills(running)}, running));
    TRY(stack_layers(runtime, id, client, begun));
    return begun.change_id;
  });
}

Result<> rollback_workspace(Runtime& runtime, const std::string& id, const std::string& checkpoint,
                            Running running) {
  return with_init_explained(runtime, id, [&](wire::InitClient& client) -> Result<> {
    const auto begun =
        TRY(ask_for_layers(client, wire::Rollback{checkpoint, kills(running)}, running));
    return stack_layers(runtime, id, client, begun);
  });
}

Result<> copy_workspace(Runtime& runtime, const std::string& from, const std::string& to,
                        const AdmitChange& admit) {
  const SandboxStatus status = TRY(runtime.find(from));
  return with_init_explained(runtime, status.id, [&](wire::InitClient& source) -> Result<> {
    const std::vector<FileChange> changes = TRY(list_workspace_changes(source, admit));
    return with_init_explained(runtime, to, [&](wire::InitClient& target) -> Result<> {
      ChangeWriter writer(target);
      for (const FileChange& change : changes) {
        auto copied = writer.write(change, reader_of(source, change.path));
        fault_point("fork.copied");
        if (copied) continue;
        return while_doing(fmt::format("fork {}: copy {}", status.id, change.path),
                           std::move(copied).error());
      }
      return {};
    });
  });
}

Result<std::string> fork_sandbox(Runtime& runtime, const std::string& id) {
  const SandboxStatus source = TRY(runtime.find(id));
  const Runtime::BackendLease backend = TRY(runtime.backend(source.spec.backend));
  if (Forker* forker = backend->forker()) return forker->fork(source.id);
  SandboxSpec spec = TRY(runtime.spec_of(source.id));
  // Otherwise two sandboxes would write to the same files.
  if (is_volume(spec.workspace)) spec.workspace.clear();
  return runtime.create(spec, [&](const std::string& made) {
    fault_point("fork.made");
    return copy_workspace(runtime, source.id, made);
  });
}

Result<ApplyReport> apply_workspace(Runtime& runtime, const std::string& id,
                                    const ApplyOptions& options) {
  const SandboxStatus status = TRY(runtime.find(id));
  ApplyRequest request;
  request.began_ns = TRY(began_of(status));
  request.directory = status.spec.workspace;
  request.mode = options.mode;
  request.conflicts = options.conflicts;
  request.hold.git = options.git;
  request.ignored = options.ignored;
  for (const std::string& path : options.paths)
    request.hold.named.push_back(workspace_path(path));
  for (const std::string& path : options.excluded)
    request.excluded.push_back(TRY(excludable(workspace_path(path))));
  const ApplyRecord record(status.id);
  request.applied = TRY(record.read());
  // The sandbox may go on with the changes of one that ended.
  const auto first_began = request.applied.find(kBeganKey);
  if (first_began != request.applied.end())
    request.began_ns = std::min(request.began_ns, first_began->second);
  return with_init_explained(
      runtime, status.id, [&](wire::InitClient& client) -> Result<ApplyReport> {
        const auto all = TRY(list_workspace_changes(client));
        (void)TRY(select_changes(all, options.paths));  // an error for a path without changes
        ApplyReport report = TRY(apply_changes(client, all, request));
        const bool is_written = options.mode == ApplyMode::Write && report.conflicts.empty();
        TRY(record.add(report.applied));
        if (is_written && !status.why_copied.empty()) TRY(follow_apply(client, report.written));
        return report;
      });
}

}  // namespace nutshell
