#include "backends/docker/container/container_streams.h"

#include <fmt/format.h>
#include <poll.h>

#include <nlohmann/json.hpp>

#include "backends/docker/container/direct_stream.h"
#include "backends/docker/container/spec_labels.h"
#include "backends/docker/engine/demux_transport.h"
#include "backends/docker/engine/engine_json.h"
#include "backends/docker/notes/sandbox_notes.h"
#include "base/file.h"
#include "containers/container_layout.h"
#include "http/message.h"

namespace nutshell::docker {

using containers::kSocketName;

Result<UniqueFd> ContainerStreams::attach(const std::string& id, const std::string& orders) {
  auto upgraded =
      TRY(TRY(engine_.reach())
              ->hijack({.method = "POST",
                        .path = container_path(id, "/attach?stream=1&stdin=1&stdout=1&stderr=1")}));
  TRY(upgraded.transport->write(orders, Deadline::in(kAnswerTime)));
  return carry(std::move(upgraded));
}

Result<UniqueFd> ContainerStreams::carry(http::Client::Upgraded upgraded) {
  return relays_.add(
      std::make_unique<DemuxTransport>(std::move(upgraded.transport), std::move(upgraded.early)));
}

Result<UniqueFd> ContainerStreams::open(const std::string& id) {
  UniqueFd stream = TRY(open_directly(id));
  if (stream) return stream;
  return open_by_engine(id);
}

Result<UniqueFd> ContainerStreams::open_directly(const std::string& id) {
  if (auto stream = connect_to_known_process(id)) return stream;
  TRY(engine_.reach_if_present());
  // If it fails, the engine's own connection fails too and says why.
  return connect_to_running_process(id).value_or(UniqueFd());
}

Result<int> ContainerStreams::ask_for_process(const std::string& id) {
  const auto answer = TRY(TRY(engine_.reach())->call({.path = container_path(id, "/json")}));
  const Json container = TRY(parse_json(answer.body));
  const Json* state = member(container, "State");
  if (state != nullptr && is_true(*state, "Paused")) return containers::paused_failure(id);
  if (state == nullptr || !is_true(*state, "Running"))
    return failure(ErrorCode::Unavailable, fmt::format("sandbox {} does not run", id));
  return static_cast<int>(number_of(*state, "Pid"));
}

// Asks for the process number again once the process is open: another process may have got the
// number in between.
Result<UniqueFd> ContainerStreams::connect_to_running_process(const std::string& id) {
  TRY(engine_.check_direct_access());
  const int number = TRY(ask_for_process(id));
  const ContainerProcess process = TRY(ContainerProcess::open(number));
  if (TRY(ask_for_process(id)) != number)
    return failure(ErrorCode::Unavailable, fmt::format("sandbox {} does not run", id));
  UniqueFd stream = TRY(process.connect(kSocketName));
  // Without the note the next connection asks the engine again. A sandbox that ends with its caller
  // has no notes, because a caller that is killed removes none.
  if (kept_clock(id)) (void)keep_process(id, TRY(engine_.find())->address().text(), number);
  return stream;
}

// Uses the process number that an earlier connection learned from the engine. An init that does not
// greet at once may be frozen, which only the engine knows.
Result<UniqueFd> ContainerStreams::connect_to_known_process(const std::string& id) {
  constexpr std::chrono::milliseconds kGreetingTime{250};
  TRY(engine_.check_direct_access());
  const std::string address = TRY(engine_.find())->address().text();
  const pid_t number = TRY(kept_process(id, address));
  const ContainerProcess process = TRY(ContainerProcess::open(number));
  TRY(kept_process(id, address));  // another process may have got the number before it was opened
  UniqueFd stream = TRY(process.connect(kSocketName));
  if (!TRY(wait_for(stream.get(), POLLIN, Deadline::in(kGreetingTime))))
    return failure(ErrorCode::DeadlineExceeded, "init does not greet");
  return stream;
}

Result<UniqueFd> ContainerStreams::open_by_engine(const std::string& id) {
  EngineClient& client = *TRY(engine_.reach_if_present());
  const Json exec = {{"AttachStdin", true},
                     {"AttachStdout", true},
                     {"AttachStderr", true},
                     {"Tty", false},
                     {"User", containers::kBridgeUser},
                     {"WorkingDir", "/"},
                     {"Cmd", {containers::kInitProgram, "connect", kSocketName}}};
  auto answer =
      client.call({.method = "POST", .path = container_path(id, "/exec"), .body = exec.dump()});
  if (!answer && answer.error().code == ErrorCode::Conflict) {
    TRY(ask_for_process(id));  // its error may name a better reason
    return failure(ErrorCode::Unavailable,
                   fmt::format("sandbox {} does not run: {}", id, answer.error().message));
  }
  const Json made = TRY(parse_json(TRY(std::move(answer)).body));
  const Json start = {{"Detach", false}, {"Tty", false}};
  return carry(TRY(client.hijack(
      {.method = "POST",
       .path = fmt::format("/exec/{}/start", http::percent_encode(text_of(made, "Id"))),
       .body = start.dump(),
       .time = kStartTime})));
}

}  // namespace nutshell::docker
