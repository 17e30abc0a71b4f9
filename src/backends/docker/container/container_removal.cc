#include "backends/docker/container/container_removal.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "backends/docker/container/spec_labels.h"
#include "backends/docker/engine/engine_json.h"
#include "backends/docker/notes/owed_removals.h"
#include "backends/docker/notes/sandbox_notes.h"
#include "backends/docker/notes/unfinished_start.h"
#include "http/message.h"

namespace nutshell::docker {
namespace {

// An engine that works answers a ping within the first time and ends a container within the second.
// The times to wait for an engine. After them the removal is noted, and a later call does it.
constexpr std::chrono::seconds kPingTime{4};
constexpr std::chrono::seconds kStopTime{20};

Failure silent_engine() {
  return failure(ErrorCode::DeadlineExceeded, "the engine does not answer");
}

}  // namespace

Result<> ContainerRemoval::end(const std::string& id) {
  const std::string container = container_name(id);
  auto ended = end_by_engine(id);
  const bool is_absent = !ended && ended.error().code == ErrorCode::NotFound;
  if (ended) {
    forget_removal(container);
  } else if (const EngineClient* client = engine_.client()) {
    // Noted before anything else is waited for. If that fails, a sweep finds it by its label.
    (void)owe_removal(client->address().text(), container);
  }
  // A container runs on without its engine (podman), or while the engine hangs.
  const bool is_killed = !ended && kill_without_engine(id);
  forget_sandbox(id);
  if (ended || is_absent || is_killed) return {};
  return while_doing(
      fmt::format("sandbox {} is removed by the next call that reaches its engine", id),
      std::move(ended).error());
}

// NotFound if there is no engine.
Result<> ContainerRemoval::end_by_engine(const std::string& id) {
  EngineClient& client = *TRY(engine_.find());
  const bool may_end_by_itself = ending_by_themselves_.erase(id) > 0;
  if (engine_.was_silent()) return silent_engine();
  if (may_end_by_itself && ends_by_itself(id)) return {};
  // Pinged even if it has answered before: an engine that hangs now is not waited for any longer.
  auto answered = client.ping(kPingTime);
  if (!answered && engine_.is_absent()) return failure(ErrorCode::NotFound, "there is no engine");
  TRY(std::move(answered));
  return remove(client, container_name(id), kStopTime);
}

// Kills init, and with it every process of the sandbox. The engine removes the container once it
// notices.
bool ContainerRemoval::kill_without_engine(const std::string& id) {
  if (!engine_.check_direct_access()) return false;
  const std::string address = engine_.client()->address().text();
  const auto number = kept_process(id, address);
  if (!number) return false;
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, *number, 0)));
  // Checked again: another process may have got the number before it was opened.
  if (!process || !kept_process(id, address)) return false;
  return ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0;
}

std::vector<std::string> ContainerRemoval::settle() {
  EngineClient* client = engine_.client();
  if (client == nullptr) return {};
  auto owed = owed_removals(client->address().text());
  for (const std::string& container : abandoned_starts(client->address().text())) {
    if (remove(*client, container, kAnswerTime)) settle_abandoned_start(container);
  }
  for (const std::string& container : owed) {
    const auto removed = remove(*client, container, kAnswerTime);
    if (removed) forget_removal(container);
    // The caller does not wait for each of them.
    if (!removed && removed.error().code == ErrorCode::DeadlineExceeded) break;
  }
  return owed;
}

// Without its stream init ends at once and the engine removes the container. Waiting for that takes
// half the time of a kill, for which Docker runs a program. Podman looks only now and then.
bool ContainerRemoval::ends_by_itself(const std::string& id) {
  constexpr std::chrono::seconds kEndTime{2};  // after that the container is killed
  EngineClient& client = *engine_.client();
  if (client.is_podman()) return false;
  const auto waited = client.call(
      {.method = "POST", .path = container_path(id, "/wait?condition=removed"), .time = kEndTime});
  if (!waited) return waited.error().code == ErrorCode::NotFound;
  // The engine also answers, with an error inside, when it cannot remove the container.
  const auto told = parse_json(waited->body);
  const Json* error = told ? member(*told, "Error") : nullptr;
  return error == nullptr || error->is_null();
}

// The engine may be removing the container itself at the same moment. Each of the two removals may
// find the other in its way and fail, so this one is tried again.
Result<> ContainerRemoval::remove(EngineClient& client, const std::string& container,
                                  std::chrono::seconds time) {
  constexpr std::chrono::milliseconds kBetween{50};
  const Deadline deadline = Deadline::in(kAnswerTime);
  for (;;) {
    auto removed = client.call(
        {.method = "DELETE",
         .path = fmt::format("/containers/{}?force=1&v=1", http::percent_encode(container)),
         .time = time});
    if (removed || removed.error().code == ErrorCode::NotFound) return {};
    const bool is_conflict = removed.error().code == ErrorCode::Conflict;
    if (!is_conflict || deadline.has_passed()) return Failure(std::move(removed).error());
    std::this_thread::sleep_for(kBetween);
  }
}

}  // namespace nutshell::docker
