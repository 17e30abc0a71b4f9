#include "server/mcp/sandbox/runtime_sandboxes.h"

#include "base/deadline.h"
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
  return Bound{TRY(runtime_.create(own)), Bound::How::Made};
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
  if (!runner.answers(Deadline::in(kInitTime))) {
    runtime_.streams().close(place.id);
    runner = TRY(ToolRunner::open(runtime_, place.id, options));
  }
  ToolResult result = runner.call(tool, check_arguments(tool, arguments, options.dialect));
  if (runner.is_stream_clean()) runtime_.keep(place.id, std::move(runner).release());
  return result;
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
