#include "runtime/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "base/deadline.h"
#include "base/fault_point.h"
#include "core/workspace_volume.h"
#include "runtime/apply_record.h"
#include "runtime/lost_stream.h"
#include "wire/applied.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;
using wire::FileChange;
using wire::FileKind;

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

std::string inside(const std::string& path) {
  return std::string(kWorkspacePath) + path;
}

// Copies files from one sandbox directly into the other; the host's files are not touched.
class Forking {
 public:
  Forking(wire::InitClient& from, wire::InitClient& to) : from_(from), to_(to) {}

  Result<> copy(const FileChange& change) {
    const bool stays =
        change.before.kind == FileKind::Directory && change.after.kind == FileKind::Directory;
    if (change.before.kind != kNoFile && !stays && change.before.kind != change.after.kind)
      TRY(remove(change.path));
    switch (change.after.kind) {
      case FileKind::Directory:
        return to_.make_directory({inside(change.path), change.after.mode | 0700U,
                                   stays ? wire::IfExists::SetMode : wire::IfExists::Accept});
      case FileKind::Link:
        return to_.make_link({inside(change.path), change.after.target});
      case FileKind::Regular:
        return copy_file(change);
      default:
        return {};
    }
  }

 private:
  Result<> remove(const std::string& path) {
    auto answer = TRY(to_.call<wire::Changed>(wire::Remove{inside(path), 1}));
    const auto* refused = std::get_if<wire::Refused>(&answer);
    // It may have gone with its directory.
    if (refused == nullptr || refused->code == ErrorCode::NotFound) return {};
    return failure(ErrorCode::Internal, fmt::format("{} {}", refused->what, refused->why));
  }
  // Reads and writes in turn, so that only a part of a file is in memory.
  Result<> copy_file(const FileChange& change) {
    std::uint64_t offset = 0;
    return to_.write_file({inside(change.path), change.after.mode, 0, 0},
                          [&](std::size_t most) -> Result<std::string> {
                            std::string part;
                            TRY(from_.read_file({inside(change.path), offset, most, 0},
                                                [&](std::string_view bytes) -> Result<> {
                                                  part += bytes;
                                                  return {};
                                                }));
                            offset += part.size();
                            return part;
                          });
  }

  wire::InitClient& from_;
  wire::InitClient& to_;
};

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
      Forking forking(source, target);
      for (const FileChange& change : changes) {
        auto copied = forking.copy(change);
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
  for (const std::string& path : options.paths)
    request.hold.named.push_back(workspace_path(path));
  const ApplyRecord record(status.id);
  request.applied = TRY(record.read());
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
