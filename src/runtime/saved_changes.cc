#include "runtime/saved_changes.h"

#include <fmt/format.h>

#include <charconv>

#include "base/fault_point.h"
#include "runtime/apply_record.h"
#include "runtime/change_writer.h"
#include "runtime/lost_stream.h"
#include "runtime/workspace_changes.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;
using saved::SavedWorkspace;
using saved::SavedWorkspaces;

constexpr auto kSavingTime = 60s;  // for which a command waits until the changes are saved
constexpr auto kTemporaryTime = 1h;

Result<> restore(wire::InitClient& client, saved::ArchiveReader& archive) {
  ChangeWriter writer(client);
  for (;;) {
    const auto change = TRY(archive.next());
    if (!change) return {};
    TRY(check_change(*change));
    auto written =
        writer.write(*change, [&](std::size_t most) { return archive.read_content(most); });
    fault_point("saved.restored");
    if (!written) return while_doing("restore " + change->path, std::move(written).error());
  }
}

Result<> restore_into(Runtime& runtime, const std::string& id, const SavedWorkspace& saved) {
  const auto place = TRY(SavedWorkspaces::open());
  auto archive = TRY(place.read(saved.sandbox.id));
  TRY(with_init_explained(runtime, id,
                          [&](wire::InitClient& client) { return restore(client, archive); }));
  std::int64_t began = 0;
  const std::string& digits = saved.sandbox.spec.workspace_began_ns;
  std::from_chars(digits.data(), digits.data() + digits.size(), began);
  AppliedTimes times = TRY(ApplyRecord(saved.sandbox.id).read());
  times.emplace(kBeganKey, began);  // an older one stays
  return ApplyRecord(id).add(times);
}

Result<> save_all(wire::InitClient& client, saved::ArchiveWriter& archive) {
  for (const wire::FileChange& change : TRY(list_workspace_changes(client))) {
    TRY(archive.add(change));
    if (change.after.kind != wire::FileKind::Regular || change.after.size == 0) continue;
    TRY(client.read_file({std::string(kWorkspacePath) + change.path, 0, change.after.size, 0},
                         [&](std::string_view bytes) { return archive.add_content(bytes); }));
  }
  return archive.changes() == 0 ? Result<>() : archive.finish("it was destroyed");
}

// A daemon prepares its sandboxes itself, and adopts those that were made beside it.
BackendContext without_daemon(const BackendContext& context) {
  BackendContext local = context;
  local.daemon.reset();
  return local;
}

}  // namespace

Result<SavedWorkspace> find_saved(const std::string& id) {
  const auto place = TRY(SavedWorkspaces::open());
  SavedWorkspace found = TRY(place.await(id, Deadline::in(kSavingTime)));
  const std::string& name = found.sandbox.id;
  // A daemon's own, which nobody may give to a new sandbox.
  std::erase_if(found.sandbox.spec.labels,
                [](const auto& label) { return label.first.starts_with("nutshell."); });
  switch (found.state) {
    case saved::State::Saved:
      return found;
    case saved::State::Saving:
      return failure(
          ErrorCode::Unavailable,
          fmt::format("the changes of sandbox {} are still being saved: try again", name));
    case saved::State::Failed:
      return failure(ErrorCode::NotFound,
                     fmt::format("sandbox {} has ended, and its changes could not be saved: {}",
                                 name, found.why));
    case saved::State::Lost:
      break;
  }
  return failure(ErrorCode::NotFound, fmt::format("sandbox {} has ended, and {}", name, found.why));
}

bool has_saved(const std::string& id) {
  const auto place = SavedWorkspaces::open();
  const auto found = place ? place->find(id) : Result<SavedWorkspace>(Failure(place.error()));
  return found && found->state != saved::State::Lost;
}

Result<std::string> create_from_saved(Runtime& runtime, const SandboxSpec& spec,
                                      const SavedWorkspace& saved) {
  if (runtime.context().daemon) {
    Runtime local(without_daemon(runtime.context()));
    return create_from_saved(local, spec, saved);
  }
  return runtime.create(spec,
                        [&](const std::string& id) { return restore_into(runtime, id, saved); });
}

Result<int> with_saved(const BackendContext& context, const SavedWorkspace& saved,
                       const SavedStep& step) {
  Runtime runtime(without_daemon(context));
  SandboxSpec spec = saved.sandbox.spec;
  spec.ttl = kTemporaryTime;
  spec.idle_timeout = 0ms;
  spec.labels.clear();
  spec.network = {};
  spec.unsafe_mounts.clear();
  spec.keep_caches = KeepCaches::No;
  spec.mounts.clear();  // no command runs, and a tool's directory may be gone by now
  return runtime.with_temporary(spec, [&](const std::string& id) -> Result<int> {
    TRY(restore_into(runtime, id, saved));
    auto done = step(runtime, id);
    // Remembers what was applied now, for the next time.
    if (const auto applied = ApplyRecord(id).read())
      (void)ApplyRecord(saved.sandbox.id).add(*applied);
    (void)ApplyRecord(id).remove();
    return done;
  });
}

Result<> save_changes(Runtime& runtime, const std::string& id) {
  const auto bounds = TRY(saved::Bounds::from_environment());
  const auto place = TRY(SavedWorkspaces::make());
  SandboxStatus status = TRY(runtime.find(id));
  status.created = std::chrono::system_clock::now() - status.age;
  auto saving = TRY(saved::Saving::begin(place.place(), status));
  const auto save = [&]() -> Result<bool> {
    const UniqueFd file = TRY(saving.new_archive(bounds));
    saved::ArchiveWriter archive(file.get(), {bounds.bytes, status.spec.limits.disk_bytes});
    TRY(with_init_explained(runtime, id,
                            [&](wire::InitClient& client) { return save_all(client, archive); }));
    return archive.changes() > 0;
  };
  const auto done = save();
  if (done && *done) return saving.commit(bounds);
  saving.drop();
  return done ? Result<>() : Result<>(Failure(done.error()));
}

}  // namespace nutshell
