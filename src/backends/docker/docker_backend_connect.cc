// Connections to the inits of containers: directly from root on the engine's own machine, by an
// exec of the engine for everybody else.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "backends/docker/direct_stream.h"
#include "backends/docker/docker_backend.h"
#include "backends/docker/engine_json.h"
#include "backends/docker/kept_clock.h"
#include "backends/docker/kept_place.h"
#include "base/file.h"

namespace nutshell::docker {
namespace {

std::string path_of(const std::string& id, std::string_view rest) {
  return fmt::format("/containers/{}{}", container_name(id), rest);
}

Failure paused(const std::string& id) {
  return failure(ErrorCode::Unavailable,
                 fmt::format("sandbox {0} is paused: 'nutshell resume {0}'", id));
}

}  // namespace

// Sandboxes may be ended by anybody, and their first connection may never be asked for here.
void DockerBackend::tidy() {
  std::erase_if(first_, [](const auto& one) {
    pollfd state{one.second.stream.get(), 0, 0};
    return ::poll(&state, 1, 0) != 0;  // it is hung up
  });
}

Result<UniqueFd> DockerBackend::connect(const std::string& id) {
  if (const auto clock = kept_clock(id); clock && clock->is_halted) return paused(id);
  const auto first = first_.find(id);
  const bool is_owner = first != first_.end() && first->second.lifetime == Lifetime::WithCaller;
  if (!is_owner) {
    auto direct = connect_without_engine(id);
    if (!direct) {
      TRY(engine_with_sandboxes());
      direct = connect_directly(id);
    }
    // Where that cannot be, or the container is not as it should be, the engine says why.
    if (direct) {
      first_.erase(id);
      return direct;
    }
  }
  if (auto taken = first_.extract(id)) return std::move(taken.mapped().stream);
  return open_bridge(id);
}

Result<> DockerBackend::release(const std::string& id) {
  TRY(TRY(init_of(id)).call<wire::Done>(wire::Release{}));
  if (auto first = unreleased_.extract(id))
    first_.insert_or_assign(id, FirstStream{std::move(first.mapped()), Lifetime::Kept});
  return {};
}

Result<int> DockerBackend::process_of(const std::string& id) {
  const auto answer = TRY(engine_->call({.path = path_of(id, "/json")}));
  const Json container = TRY(parse_json(answer.body));
  const Json* state = member(container, "State");
  if (state != nullptr && is_true(*state, "Paused")) return paused(id);
  if (state == nullptr || !is_true(*state, "Running"))
    return failure(ErrorCode::Unavailable, fmt::format("sandbox {} does not run", id));
  return static_cast<int>(number_of(*state, "Pid"));
}

// The number is asked for again when the process is held: it may have been another's meanwhile.
Result<UniqueFd> DockerBackend::connect_directly(const std::string& id) {
  if (!engine_->address().is_local() || ::geteuid() != 0)
    return failure(ErrorCode::Unsupported, "only from the engine's own machine, and by root");
  const int number = TRY(process_of(id));
  const ContainerProcess process = TRY(ContainerProcess::open(number));
  if (TRY(process_of(id)) != number)
    return failure(ErrorCode::Unavailable, fmt::format("sandbox {} does not run", id));
  UniqueFd stream = TRY(process.connect(kSocketName));
  // Where it cannot be written down, the engine is asked the next time too.
  (void)keep_process(id, engine_->address().text(), number);
  return stream;
}

// By what an earlier connection learned of the engine. An init that does not greet at once may be
// frozen, which the engine knows: it is asked then.
Result<UniqueFd> DockerBackend::connect_without_engine(const std::string& id) {
  constexpr std::chrono::milliseconds kGreetingTime{250};
  const EngineAddress& address = TRY(chosen_engine())->address();
  if (!address.is_local() || ::geteuid() != 0)
    return failure(ErrorCode::Unsupported, "only from the engine's own machine, and by root");
  const pid_t number = TRY(kept_process(id, address.text()));
  const ContainerProcess process = TRY(ContainerProcess::open(number));
  TRY(kept_process(id, address.text()));  // the number may have changed hands before it was opened
  UniqueFd stream = TRY(process.connect(kSocketName));
  if (!TRY(wait_for(stream.get(), POLLIN, Deadline::in(kGreetingTime))))
    return failure(ErrorCode::DeadlineExceeded, "init does not greet");
  return stream;
}

Result<UniqueFd> DockerBackend::open_bridge(const std::string& id) {
  const Json exec = {{"AttachStdin", true},
                     {"AttachStdout", true},
                     {"AttachStderr", true},
                     {"Tty", false},
                     {"User", kBridgeUser},
                     {"WorkingDir", "/"},
                     {"Cmd", {kInitProgram, "connect", kSocketName}}};
  auto answer =
      engine_->call({.method = "POST", .path = path_of(id, "/exec"), .body = exec.dump()});
  if (!answer && answer.error().code == ErrorCode::Conflict) {
    TRY(process_of(id));  // which may know a better reason
    return failure(ErrorCode::Unavailable,
                   fmt::format("sandbox {} does not run: {}", id, answer.error().message));
  }
  const Json made = TRY(parse_json(TRY(std::move(answer)).body));
  const Json start = {{"Detach", false}, {"Tty", false}};
  return carry(TRY(engine_->hijack(
      {.method = "POST",
       .path = fmt::format("/exec/{}/start", http::percent_encode(text_of(made, "Id"))),
       .body = start.dump(),
       .time = kStartTime})));
}

}  // namespace nutshell::docker
