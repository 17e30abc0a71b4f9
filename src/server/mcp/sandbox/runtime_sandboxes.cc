#include "server/mcp/sandbox/runtime_sandboxes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/deadline.h"
#include "runtime/workspace.h"
#include "server/mcp/sandbox/workspace_view.h"

namespace nutshell::mcp {
namespace {

using namespace std::chrono_literals;

// Of the one that a client gets without asking.
constexpr const char* kRoleLabel = "mcp.role";
constexpr const char* kOwn = "default";
constexpr std::size_t kMostFreeSeats = 16;
// An init that lives answers within this; else the sandbox is looked for again.
constexpr auto kInitTime = 2s;

bool is_same(const ToolRunnerOptions& a, const ToolRunnerOptions& b) {
  return a.dialect == b.dialect && a.takes_images == b.takes_images &&
         a.repeats_output == b.repeats_output && a.reads_only == b.reads_only &&
         a.wants_fields == b.wants_fields && a.notes_gain == b.notes_gain;
}

}  // namespace

struct RuntimeSandboxes::Seat {
  Seat(const BackendContext& context, std::string sandbox)
      : runtime(context),
        id(std::move(sandbox)),
        interrupt(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  Runtime runtime;
  std::string id;
  // One number for the life of the runner, and behind it the event of the call that is on.
  UniqueFd interrupt;
  ToolRunnerOptions options;
  std::optional<ToolRunner> runner;
};

RuntimeSandboxes::RuntimeSandboxes(BackendContext context)
    : context_(std::move(context)), desk_(context_) {}

RuntimeSandboxes::~RuntimeSandboxes() = default;

// A copy has the labels of what it was copied from: the oldest is the session's own. With the desk
// in hand.
Result<std::string> RuntimeSandboxes::find_own(const SessionKey& session) {
  const SandboxStatus* oldest = nullptr;
  const auto found = TRY(desk_.list({{kSessionLabel, session.label}, {kRoleLabel, kOwn}}));
  for (const SandboxStatus& status : found) {
    if (status.state != SandboxState::Running) continue;
    if (oldest == nullptr || status.age > oldest->age) oldest = &status;
  }
  if (oldest == nullptr)
    return failure(ErrorCode::NotFound, "no tool was called yet: there is no sandbox");
  return oldest->id;
}

Result<std::string> RuntimeSandboxes::find(const SessionKey& session) {
  const std::lock_guard lock(desk_mutex_);
  return find_own(session);
}

// Two calls at once must not make two: the desk is held all the while.
Result<Sandboxes::Bound> RuntimeSandboxes::ensure(const SessionKey& session,
                                                  const SandboxSpec& spec) {
  const std::lock_guard lock(desk_mutex_);
  auto found = find_own(session);
  if (found) return Bound{std::move(*found), Bound::How::Found};
  if (found.error().code != ErrorCode::NotFound) return Failure(std::move(found).error());
  SandboxSpec own = spec;
  own.labels[kRoleLabel] = kOwn;
  return Bound{TRY(desk_.create(own)), Bound::How::Made};
}

Result<std::vector<SandboxStatus>> RuntimeSandboxes::list(const SessionKey& session) {
  const std::lock_guard lock(desk_mutex_);
  return desk_.list({{kSessionLabel, session.label}});
}

Result<std::string> RuntimeSandboxes::create(const SessionKey& /*session*/,
                                             const SandboxSpec& spec) {
  const std::lock_guard lock(desk_mutex_);
  return desk_.create(spec);
}

Result<> RuntimeSandboxes::destroy(const Place& place) {
  const std::lock_guard lock(desk_mutex_);
  return desk_.destroy(place.id);
}

Result<std::string> RuntimeSandboxes::fork(const Place& place) {
  const std::lock_guard lock(desk_mutex_);
  return fork_sandbox(desk_, place.id);
}

RuntimeSandboxes::SeatPointer RuntimeSandboxes::take_free_seat(const std::string& id) {
  const std::lock_guard lock(seats_mutex_);
  for (auto seat = free_.begin(); seat != free_.end(); ++seat) {
    if ((*seat)->id != id) continue;
    SeatPointer taken = std::move(*seat);
    free_.erase(seat);
    return taken;
  }
  return nullptr;
}

Result<RuntimeSandboxes::SeatPointer> RuntimeSandboxes::take_seat(
    const std::string& id, const ToolRunnerOptions& options) {
  while (SeatPointer seat = take_free_seat(id)) {
    // Asked of the sandbox itself: an engine would take longer, and may not answer.
    if (is_same(seat->options, options) && seat->runner->answers(Deadline::in(kInitTime)))
      return seat;
  }
  auto seat = std::make_unique<Seat>(context_, id);
  seat->options = options;
  seat->options.interrupt = seat->interrupt.get();
  seat->runner = TRY(ToolRunner::open(seat->runtime, id, seat->options));
  return seat;
}

void RuntimeSandboxes::give_back(SeatPointer seat) {
  const std::lock_guard lock(seats_mutex_);
  free_.push_front(std::move(seat));
  if (free_.size() > kMostFreeSeats) free_.pop_back();
}

Result<ToolResult> RuntimeSandboxes::call(const Place& place, const Tool& tool,
                                          std::string_view arguments,
                                          const ToolRunnerOptions& options) {
  SeatPointer seat = TRY(take_seat(place.id, options));
  if (options.interrupt >= 0 && ::dup3(options.interrupt, seat->interrupt.get(), O_CLOEXEC) < 0)
    return syscall_failure("dup3");
  ToolResult result = seat->runner->call(tool, arguments);
  if (seat->runner->is_stream_clean()) give_back(std::move(seat));
  return result;
}

Result<StoredOutput> RuntimeSandboxes::output(const Place& place, const std::string& output_id) {
  OutputStore store = TRY(OutputStore::open(place.id));
  return store.load(output_id);
}

Result<std::string> RuntimeSandboxes::read_file(const Place& place, const std::string& path,
                                                std::size_t most) {
  const std::lock_guard lock(desk_mutex_);
  wire::InitClient client = TRY(desk_.connect(place.id));
  std::string bytes;
  TRY(client.read_file(reading_of(path, most), [&bytes](std::string_view piece) -> Result<> {
    bytes.append(piece);
    return {};
  }));
  return whole_file(std::move(bytes), path, most);
}

Result<std::vector<std::string>> RuntimeSandboxes::names(const Place& place,
                                                         const std::string& directory,
                                                         std::size_t most) {
  const std::lock_guard lock(desk_mutex_);
  wire::InitClient client = TRY(desk_.connect(place.id));
  return names_in(client, directory, most);
}

Result<std::string> RuntimeSandboxes::diff(const Place& place, std::size_t most) {
  const std::lock_guard lock(desk_mutex_);
  wire::InitClient client = TRY(desk_.connect(place.id));
  return patch_of(client, most);
}

}  // namespace nutshell::mcp
