#include "backends/daemon_client/daemon_backend.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_form.h"
#include "core/json_text.h"
#include "core/sandbox_id.h"
#include "images/image_root.h"

namespace nutshell::daemon_backend {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPage = 1000;
constexpr const char* kProtocol = "nutshell-wire";

// An id goes into a path: what is none is not even asked for.
Result<std::string> place_of(const std::string& id, std::string_view what = {}) {
  if (is_sandbox_id_beginning(id)) return fmt::format("/v1/sandboxes/{}{}", id, what);
  return failure(ErrorCode::NotFound, fmt::format("no sandbox '{}'", id));
}

template <typename T>
Result<T> value_at(const Json& object, const char* key) {
  try {
    return object.at(key).get<T>();
  } catch (const Json::exception& problem) {
    return failure(ErrorCode::Corrupt, std::string("the daemon's answer: ") + problem.what());
  }
}

// Reads a noun of the daemon's answer, and refuses one that is malformed.
template <typename T>
Result<T> noun_of(const Json& object) {
  T noun;
  auto read = read_json(object, noun);
  if (!read)
    return failure(ErrorCode::Corrupt, "the daemon's answer: " + std::move(read).error().message);
  return noun;
}

// Both programs stand in the same file system, but not in the same directory of it.
Result<std::string> body_of(SandboxSpec spec) {
  spec.image = images::seen_from_anywhere(spec.image);
  return api::body_of(to_json(spec, Written::Request));
}

Gone::Reason reason_of(const std::string& word) {
  if (word == "never-started") return Gone::Reason::NeverStarted;
  return word == "out-of-memory" ? Gone::Reason::OutOfMemory : Gone::Reason::Unknown;
}

}  // namespace

Result<DaemonBackend::Stream> DaemonBackend::open(const std::string& target,
                                                  const std::string& body) {
  auto answer = TRY(client_.upgrade(target, body, kProtocol));
  if (answer.status != 101) return api::problem_of(answer.status, answer.body);
  return Stream{std::move(answer.socket), std::string(answer.headers.get("Nutshell-Sandbox"))};
}

Protections DaemonBackend::probe() {
  auto protections = check({});
  if (protections) return std::move(*protections);
  return {{"sandbox", Strength::Missing, "", protections.error().message}};
}

Result<Protections> DaemonBackend::check(const SandboxSpec& spec) {
  const Json answer = TRY(client_.ask("POST", "/v1/check", TRY(body_of(spec))));
  Protections protections;
  for (const Json& one : TRY(value_at<Json>(answer, "protections")))
    protections.push_back(TRY(noun_of<Protection>(one)));
  return protections;
}

Result<std::string> DaemonBackend::start(const SandboxSpec& spec, Lifetime lifetime) {
  if (lifetime == Lifetime::WithCallerUntilReleased)
    return failure(ErrorCode::Unsupported, "the daemon prepares its sandboxes itself");
  const std::string body = TRY(body_of(spec));
  if (lifetime == Lifetime::Kept) {
    return value_at<std::string>(TRY(client_.ask("POST", "/v1/sandboxes", body)), "id");
  }
  // The daemon ends the sandbox with this connection, and so with this process.
  auto opened = TRY(open("/v1/streams", body));
  temporary_[opened.sandbox] = {std::move(opened.socket), false};
  return std::move(opened.sandbox);
}

Result<> DaemonBackend::release(const std::string& /*id*/) {
  return failure(ErrorCode::Unsupported, "the daemon prepares its sandboxes itself");
}

Result<std::string> DaemonBackend::fork(const std::string& id) {
  return value_at<std::string>(TRY(client_.ask("POST", TRY(place_of(id, "/fork")))), "id");
}

Result<UniqueFd> DaemonBackend::connect(const std::string& id) {
  const auto own = temporary_.find(id);
  if (own != temporary_.end() && !std::exchange(own->second.is_taken, true)) {
    UniqueFd stream(::fcntl(own->second.life.get(), F_DUPFD_CLOEXEC, 0));
    if (!stream) return syscall_failure("fcntl");
    return stream;
  }
  return std::move(TRY(open(TRY(place_of(id, "/stream")))).socket);
}

Result<> DaemonBackend::stop(const std::string& id) {
  auto answer = client_.ask("DELETE", TRY(place_of(id)));
  temporary_.erase(id);
  if (answer || answer.error().code == ErrorCode::NotFound) return {};
  return Failure(std::move(answer).error());
}

Result<std::vector<SandboxStatus>> DaemonBackend::list() {
  std::vector<SandboxStatus> all;
  std::string target = fmt::format("/v1/sandboxes?protections=true&limit={}", kPage);
  for (;;) {
    const Json page = TRY(client_.ask("GET", target));
    for (const Json& one : TRY(value_at<Json>(page, "sandboxes")))
      all.push_back(TRY(noun_of<SandboxStatus>(one)));
    const Json next = TRY(value_at<Json>(page, "next_cursor"));
    if (!next.is_string() || !is_sandbox_id(next.get<std::string>())) return all;
    target = fmt::format("/v1/sandboxes?protections=true&limit={}&cursor={}", kPage,
                         next.get<std::string>());
  }
}

Result<std::vector<std::string>> DaemonBackend::environment_of(const std::string& id) {
  const Json answer = TRY(client_.ask("GET", TRY(place_of(id, "/environment"))));
  return value_at<std::vector<std::string>>(answer, "environment");
}

Result<SandboxStats> DaemonBackend::stats(const std::string& id) {
  return noun_of<SandboxStats>(TRY(client_.ask("GET", TRY(place_of(id, "/stats")))));
}

Result<> DaemonBackend::pause(const std::string& id) {
  TRY(client_.ask("POST", TRY(place_of(id, "/pause"))));
  return {};
}

Result<> DaemonBackend::resume(const std::string& id) {
  TRY(client_.ask("POST", TRY(place_of(id, "/resume"))));
  return {};
}

Result<> DaemonBackend::restack(const std::string& id, const std::vector<std::string>& layers) {
  const Json body = {{"layers", layers}};
  TRY(client_.ask("POST", TRY(place_of(id, "/restack")), dump_json(body)));
  return {};
}

// The stream breaks with the daemon that carries it as well as with the sandbox. Only a daemon that
// answers "not found" knows that the sandbox has ended.
Gone DaemonBackend::why_gone(const std::string& id) {
  Gone unknown{Gone::Reason::Unknown, "the sandbox has ended"};
  const auto sandbox = place_of(id);
  if (!sandbox) return unknown;
  const auto found = client_.send("GET", *sandbox);
  if (!found) {
    return {Gone::Reason::CutOff,
            fmt::format("the daemon went away; sandbox {} may still run, 'nutshell list' shows it "
                        "once the daemon is back ({})",
                        id, found.error().message)};
  }
  if (found->status == 200) {
    return {Gone::Reason::CutOff,
            fmt::format("the daemon closed the connection or was restarted; sandbox {} still runs",
                        id)};
  }
  if (found->status != 404) {
    return {Gone::Reason::CutOff,
            fmt::format("the daemon does not tell whether sandbox {} still runs: {}", id,
                        api::problem_of(found->status, found->body).value().message)};
  }
  const auto answer = client_.ask("GET", *sandbox + "/gone");
  if (!answer) return unknown;
  const auto reason = value_at<std::string>(*answer, "reason");
  const auto text = value_at<std::string>(*answer, "text");
  if (!reason || !text || reason_of(*reason) == Gone::Reason::Unknown) return unknown;
  return {reason_of(*reason), *text};
}

SweepReport DaemonBackend::sweep(SweepMode mode) {
  const Json body = {{"dry_run", mode == SweepMode::DryRun}};
  const auto answer = client_.ask("POST", "/v1/sweep", body.dump());
  if (!answer) return {{}, {answer.error().message}};
  SweepReport report;
  const auto removed = value_at<std::vector<std::string>>(*answer, "removed");
  const auto failed = value_at<std::vector<std::string>>(*answer, "failed");
  if (removed) report.removed = *removed;
  if (failed) report.failed = *failed;
  return report;
}

std::unique_ptr<Backend> make_daemon_backend(DaemonAccess access) {
  return std::make_unique<DaemonBackend>(std::move(access));
}

}  // namespace nutshell::daemon_backend
