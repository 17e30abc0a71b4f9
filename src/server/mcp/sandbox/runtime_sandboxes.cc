#include "server/mcp/sandbox/runtime_sandboxes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/deadline.h"
#include "runtime/workspace.h"
#include "runtime/workspace_diff.h"

namespace nutshell::mcp {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostFreeSeats = 16;
// A sandbox may end between two calls; one that was used a moment ago has not.
constexpr auto kTrusted = 2s;

bool is_same(const ToolRunnerOptions& a, const ToolRunnerOptions& b) {
  return a.dialect == b.dialect && a.takes_images == b.takes_images &&
         a.repeats_output == b.repeats_output && a.reads_only == b.reads_only &&
         a.wants_fields == b.wants_fields && a.notes_gain == b.notes_gain;
}

std::string path_in(const std::string& path) {
  return path.starts_with('/') ? path : fmt::format("{}{}", kWorkspacePath, path);
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
  Clock::time_point used = Clock::now();
};

RuntimeSandboxes::RuntimeSandboxes(BackendContext context)
    : context_(std::move(context)), desk_(context_) {}

RuntimeSandboxes::~RuntimeSandboxes() = default;

Result<std::string> RuntimeSandboxes::create(const std::string& /*owner*/,
                                             const SandboxSpec& spec) {
  const std::lock_guard lock(desk_mutex_);
  return desk_.create(spec);
}

Result<std::vector<SandboxStatus>> RuntimeSandboxes::list(const std::string& /*owner*/,
                                                          const Labels& labels) {
  const std::lock_guard lock(desk_mutex_);
  return desk_.list(labels);
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
    const bool is_fresh = Clock::now() - seat->used < kTrusted;
    if (!is_same(seat->options, options) || (!is_fresh && !seat->runtime.find(id))) continue;
    return seat;
  }
  auto seat = std::make_unique<Seat>(context_, id);
  seat->options = options;
  seat->options.interrupt = seat->interrupt.get();
  seat->runner = TRY(ToolRunner::open(seat->runtime, id, seat->options));
  return seat;
}

void RuntimeSandboxes::give_back(SeatPointer seat) {
  seat->used = Clock::now();
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
  // A conversation that broke off leaves bytes behind that the next call would take for its own.
  const bool is_broken =
      result.error && (result.error->code == "unavailable" || result.error->code == "internal" ||
                       result.error->code == "timeout");
  if (!is_broken) give_back(std::move(seat));
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
  wire::ReadFile request;
  request.path = path_in(path);
  request.length = most + 1;
  std::string bytes;
  TRY(client.read_file(request, [&bytes](std::string_view piece) -> Result<> {
    bytes.append(piece);
    return {};
  }));
  if (bytes.size() > most)
    return failure(ErrorCode::ResourceExhausted, fmt::format("'{}' is too large to give", path));
  return bytes;
}

Result<std::vector<std::string>> RuntimeSandboxes::names(const Place& place,
                                                         const std::string& directory,
                                                         std::size_t most) {
  const std::lock_guard lock(desk_mutex_);
  wire::InitClient client = TRY(desk_.connect(place.id));
  wire::ListDirectory request;
  request.path = path_in(directory);
  request.most_entries = static_cast<std::uint32_t>(most);
  const auto answer = TRY(client.call<wire::Listing>(request));
  const auto* listing = std::get_if<wire::Listing>(&answer);
  if (listing == nullptr) return failure(ErrorCode::NotFound, "no such directory");
  std::vector<std::string> names;
  for (const wire::ListedEntry& entry : listing->entries) {
    const bool is_directory = entry.info.kind == wire::FileKind::Directory;
    names.push_back(entry.info.path + (is_directory ? "/" : ""));
  }
  return names;
}

Result<std::string> RuntimeSandboxes::diff(const Place& place, std::size_t most) {
  const std::lock_guard lock(desk_mutex_);
  wire::InitClient client = TRY(desk_.connect(place.id));
  const auto changes = TRY(list_workspace_changes(client));
  std::string text;
  std::size_t shown = 0;
  for (const wire::FileChange& change : changes) {
    const auto difference = difference_of(client, change, BinaryForm::Named);
    const std::string patch = difference ? difference->patch : change.path + " (too large)\n";
    if (text.size() + patch.size() > most) break;
    text += patch;
    ++shown;
  }
  if (shown < changes.size())
    text += fmt::format("({} more files are changed, not shown)\n", changes.size() - shown);
  return text;
}

}  // namespace nutshell::mcp
