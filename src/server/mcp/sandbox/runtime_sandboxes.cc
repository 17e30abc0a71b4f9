#include "server/mcp/sandbox/runtime_sandboxes.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/deadline.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/user_directory.h"
#include "runtime/saved_changes.h"
#include "runtime/workspace.h"
#include "server/mcp/sandbox/workspace_view.h"

namespace nutshell::mcp {
namespace {

using namespace std::chrono_literals;

// Marks the sandbox that a client gets without asking.
constexpr const char* kRoleLabel = "mcp.role";
constexpr const char* kOwn = "default";
// An init that lives answers within this time.
constexpr auto kInitTime = 2s;
// For so long after an answer, nobody asks whether init is alive.
constexpr auto kFresh = 1s;
constexpr std::size_t kMostAnswered = 1024;

// Saving takes milliseconds, unless much was changed.
constexpr auto kSavingTime = 60s;

std::string label_of(const SandboxSpec& spec, const char* name) {
  const auto found = spec.labels.find(name);
  return found == spec.labels.end() ? std::string() : found->second;
}

// The session's last sandbox that ended with changes, if the saved ones tell of it.
std::optional<saved::SavedWorkspace> last_of(const SessionKey& session,
                                             const std::string& workspace) {
  const auto place = saved::SavedWorkspaces::open();
  if (!place || workspace.empty()) return std::nullopt;
  for (const saved::SavedWorkspace& one :
       place->list().value_or(std::vector<saved::SavedWorkspace>())) {
    const SandboxSpec& spec = one.sandbox.spec;
    const bool is_it = label_of(spec, kSessionLabel) == session.label &&
                       label_of(spec, kRoleLabel) == kOwn && spec.workspace == workspace;
    if (!is_it) continue;
    auto saved = place->await(one.sandbox.id, Deadline::in(kSavingTime));
    if (saved) return std::move(*saved);
  }
  return std::nullopt;
}

std::string went_on(const saved::SavedWorkspace& last) {
  return fmt::format(
      "(Your sandbox had ended ({}); this is a new one, with the {} changed files of the last one "
      "in /workspace. Processes, jobs, undo ids and /tmp are gone.)\n",
      last.summary.why, last.summary.changes);
}

std::string started_anew(const saved::SavedWorkspace& last, const std::string& why) {
  return fmt::format(
      "(Your sandbox had ended; this is a new one, without its changes: {}. The user can try "
      "`nutshell diff {}`.)\n",
      why, last.sandbox.id);
}

// Remembers the sandbox that a session had last, so that the first answer in the next one can tell
// that it is another, even after the server was restarted.
class LastSandbox {
 public:
  static Result<LastSandbox> of(const SessionKey& session) {
    const auto place = TRY(open_user_directory()) / "mcp";
    TRY(make_directory(place));
    return LastSandbox(place / (session.label + ".last"));
  }
  [[nodiscard]] bool is_known() const { return read_file(file_, 64).has_value(); }
  void remember(const std::string& id) const {
    (void)write_file(file_, id, 0600);  // on failure one remark is missing
  }

 private:
  explicit LastSandbox(std::filesystem::path file) : file_(std::move(file)) {}
  std::filesystem::path file_;
};

// Said where no changes are saved.
const char* ended_without_changes(const SandboxSpec& spec) {
  if (spec.workspace.empty())
    return "(Your sandbox had ended; this is a new one. All that was in it is gone.)\n";
  return "(Your sandbox had ended; this is a new one. In /workspace it had left no changes; "
         "processes, jobs, undo ids and /tmp are gone.)\n";
}

}  // namespace

// A fork has the labels of its original: the oldest sandbox is the session's own.
Result<std::string> RuntimeSandboxes::find_own(const SessionKey& session) {
  const SandboxStatus* oldest = nullptr;
  const auto found =
      TRY(runtime_.list_of(session.backend, {{kSessionLabel, session.label}, {kRoleLabel, kOwn}}));
  for (const SandboxStatus& status : found) {
    if (status.state != SandboxState::Running) continue;
    if (oldest == nullptr || status.age > oldest->age) oldest = &status;
  }
  if (oldest == nullptr)
    return failure(ErrorCode::NotFound, "there is no sandbox yet: the first tool call makes one");
  return oldest->id;
}

Result<std::string> RuntimeSandboxes::find(const SessionKey& session) {
  return find_own(session);
}

// Two calls at once must not make two sandboxes.
Result<Sandboxes::Bound> RuntimeSandboxes::ensure(const SessionKey& session,
                                                  const SandboxSpec& spec) {
  const std::lock_guard lock(making_);
  auto found = find_own(session);
  if (found) return Bound{std::move(*found), Bound::How::Found};
  if (found.error().code != ErrorCode::NotFound) return Failure(std::move(found).error());
  SandboxSpec own = spec;
  own.labels[kRoleLabel] = kOwn;
  const LastSandbox before = TRY(LastSandbox::of(session));
  const bool had_one = before.is_known();
  Bound made = TRY(make(session, own));
  if (had_one && made.remark.empty()) made.remark = ended_without_changes(own);
  before.remember(made.id);
  return made;
}

Result<Sandboxes::Bound> RuntimeSandboxes::make(const SessionKey& session, const SandboxSpec& own) {
  const auto last = last_of(session, own.workspace);
  if (!last) return Bound{TRY(runtime_.create(own)), Bound::How::Made};
  if (last->state == saved::State::Saved) {
    auto id = create_from_saved(runtime_, own, *last);
    if (id) return Bound{std::move(*id), Bound::How::Made, went_on(*last)};
    return Bound{TRY(runtime_.create(own)), Bound::How::Made,
                 started_anew(*last, id.error().message)};
  }
  return Bound{TRY(runtime_.create(own)), Bound::How::Made, started_anew(*last, last->why)};
}

Result<std::vector<SandboxStatus>> RuntimeSandboxes::list(const SessionKey& session) {
  return runtime_.list_of(session.backend, {{kSessionLabel, session.label}});
}

Result<std::string> RuntimeSandboxes::create(const SessionKey& /*session*/,
                                             const SandboxSpec& spec) {
  return runtime_.create(spec);
}

Result<> RuntimeSandboxes::destroy(const Place& place) {
  return runtime_.destroy(place.id);
}

Result<std::string> RuntimeSandboxes::fork(const Place& place) {
  return fork_sandbox(runtime_, place.id);
}

Result<ToolResult> RuntimeSandboxes::call(const Place& place, const Tool& tool,
                                          const nlohmann::json& arguments,
                                          const ToolRunnerOptions& options) {
  auto runner = TRY(ToolRunner::open(runtime_, place.id, options));
  // Asks init whether it is alive, because an engine takes longer and may hang.
  const bool is_alive = (has_just_answered(place.id) && runner.is_connected()) ||
                        runner.answers(Deadline::in(kInitTime));
  if (!is_alive) {
    runtime_.streams().close(place.id);
    runner = TRY(ToolRunner::open(runtime_, place.id, options));
  }
  ToolResult result = runner.call(tool, check_arguments(tool, arguments, options.dialect));
  if (!runner.is_stream_clean()) {
    answered_.with([&](auto& all) { all.erase(place.id); });
    return result;
  }
  runtime_.keep(place.id, std::move(runner).release());
  answered_.with([&](auto& all) {
    if (all.size() >= kMostAnswered) all.clear();  // they are asked once more
    all[place.id] = Clock::now();
  });
  return result;
}

bool RuntimeSandboxes::has_just_answered(const std::string& sandbox) const {
  return answered_.with([&](const auto& all) {
    const auto found = all.find(sandbox);
    return found != all.end() && Clock::now() - found->second < kFresh;
  });
}

Result<StoredOutput> RuntimeSandboxes::output(const Place& place, const std::string& output_id) {
  OutputStore store = TRY(OutputStore::open(place.id));
  return store.load(output_id);
}

Result<std::string> RuntimeSandboxes::read_file(const Place& place, const std::string& path,
                                                std::size_t most) {
  return runtime_.with_init(place.id, [&](wire::InitClient& client) -> Result<std::string> {
    std::string bytes;
    TRY(client.read_file(reading_of(path, most), [&bytes](std::string_view piece) -> Result<> {
      bytes.append(piece);
      return {};
    }));
    return whole_file(std::move(bytes), path, most);
  });
}

Result<std::vector<std::string>> RuntimeSandboxes::names(const Place& place,
                                                         const std::string& directory,
                                                         std::size_t most) {
  return runtime_.with_init(
      place.id, [&](wire::InitClient& client) { return names_in(client, directory, most); });
}

Result<std::string> RuntimeSandboxes::diff(const Place& place, std::size_t most) {
  CallMemory memory;  // this program serves one user
  return runtime_.with_init(
      place.id, [&](wire::InitClient& client) { return patch_of(client, most, memory); });
}

}  // namespace nutshell::mcp
