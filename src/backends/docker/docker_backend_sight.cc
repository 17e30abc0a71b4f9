// What can be seen of an engine's sandboxes: which there are, why one ended, what is left over.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/docker/docker_backend.h"
#include "backends/docker/engine_json.h"
#include "backends/docker/engine_stats.h"
#include "backends/docker/kept_clock.h"
#include "backends/docker/kept_environment.h"
#include "backends/docker/kept_place.h"
#include "backends/docker/owed_removals.h"
#include "backends/docker/unfinished_start.h"
#include "core/sandbox_id.h"
#include "core/workspace_volume.h"
#include "wire/init_client.h"

namespace nutshell::docker {
namespace {

using namespace std::chrono_literals;

// Time for whoever makes or ends it to do so himself.
constexpr auto kPatience = 60s;

// Labels alone may come with an image; the name is given by whoever makes a container.
bool has_name(const Json& container, const std::string& wanted) {
  const Json* names = member(container, "Names");
  return names != nullptr && names->is_array() &&
         std::any_of(names->begin(), names->end(), [&wanted](const Json& name) {
           return name == wanted || name == "/" + wanted;
         });
}

std::string label_filter(const std::string& label) {
  return http::percent_encode(Json{{"label", {label}}}.dump());
}

}  // namespace

Result<std::vector<DockerBackend::Found>> DockerBackend::find_all() {
  TRY(engine_with_sandboxes());
  const std::string scope = TRY(scope_of_this_user());
  const auto answer = TRY(
      engine_->call({.path = fmt::format("/containers/json?all=1&filters={}",
                                         label_filter(fmt::format("{}={}", kScopeLabel, scope)))}));
  const Json containers = TRY(parse_json(answer.body));
  std::vector<Found> all;
  if (!containers.is_array()) return failure(ErrorCode::Corrupt, "the engine lists no containers");
  for (const Json& container : containers) {
    auto remembered = from_labels(texts_by_name(container, "Labels"));
    if (!remembered || remembered->scope != scope || !is_sandbox_id(remembered->id) ||
        remembered->id.front() != id_letter(kind_) ||
        !has_name(container, container_name(remembered->id)))
      continue;
    all.push_back({std::move(*remembered), text_of(container, "State"),
                   std::chrono::seconds(number_of(container, "Created"))});
  }
  return all;
}

Result<std::vector<SandboxStatus>> DockerBackend::list() {
  std::vector<SandboxStatus> all;
  // Looked at first: a container is there before its environment is kept.
  const auto kept = engine_with_sandboxes() ? ids_with_environments(engine_->address().text())
                                            : std::vector<std::string>();
  auto found = find_all();
  if (!found && found.error().code == ErrorCode::NotFound) return all;
  std::vector<Found> here = TRY(std::move(found));
  forget_ended(kept, here);
  const auto owed = settle_removals();  // by an engine that has just answered
  const auto now = milliseconds_now();
  for (Found& one : here) {
    if (is_among(owed, one)) continue;
    if (one.state != "running" && one.state != "paused") continue;
    SandboxStatus status;
    status.id = one.remembered.id;
    status.spec = std::move(one.remembered.spec);
    const auto clock = kept_clock(status.id);
    const bool is_paused = one.state == "paused" || (clock && clock->is_halted);
    status.state = is_paused ? SandboxState::Paused : SandboxState::Running;
    status.age = std::max(now - one.made_at, 0ms);
    status.time_left = clock ? clock->left_at(now) : std::max(one.remembered.expires_at - now, 0ms);
    status.protections = protections_for(*TRY(facts()), status.spec);
    status.why_copied = is_volume(status.spec.workspace) ? "" : "a container may not stack layers";
    all.push_back(std::move(status));
  }
  return all;
}

// An environment may hold secrets: it does not outlive its sandbox by more than one look.
void DockerBackend::forget_ended(const std::vector<std::string>& kept,
                                 const std::vector<Found>& here) {
  for (const std::string& id : kept) {
    const bool is_here = std::any_of(here.begin(), here.end(),
                                     [&id](const Found& one) { return one.remembered.id == id; });
    if (is_here) continue;
    forget_environment(id);
    forget_clock(id);
    forget_place(id);
  }
}

// One look: without that word Docker takes two, a second apart.
Result<SandboxStats> DockerBackend::stats(const std::string& id) {
  TRY(engine_with_sandboxes());
  const auto answer =
      TRY(engine_->call({.path = fmt::format("/containers/{}/stats?stream=false&one-shot=true",
                                             container_name(id))}));
  return read_stats(TRY(parse_json(answer.body)), *TRY(facts()));
}

// A container that ended is removed by the engine, but its events are remembered for a while.
Gone DockerBackend::why_gone(const std::string& id) {
  Gone gone{Gone::Reason::Unknown, "the sandbox has ended"};
  if (!engine_) return gone;
  const Json filters = {{"container", {container_name(id)}}, {"event", {"oom"}}};
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(milliseconds_now()).count();
  const auto visit = [&gone](std::string_view line) -> Result<> {
    const auto event = parse_json(line);
    if (event && text_of(*event, "Action") == "oom")
      gone = {Gone::Reason::OutOfMemory, "the whole sandbox ran out of memory and has ended"};
    return {};
  };
  // Without an answer the reason stays unknown.
  (void)engine_->stream_lines(
      {.path = fmt::format("/events?since={}&until={}&filters={}", now - 3600, now + 1,
                           http::percent_encode(filters.dump())),
       .time = 5s},
      visit);
  return gone;
}

Result<> DockerBackend::try_sandbox() {
  TRY(facts());
  const auto answer = TRY(engine_->call({.path = "/images/json"}));
  const Json images = TRY(parse_json(answer.body));
  if (!images.is_array() || images.empty()) {
    return failure(ErrorCode::NotFound, "the engine has no image to try one with: pull any");
  }
  SandboxSpec spec;
  spec.image = text_of(images.front(), "Id");
  const std::string id = TRY(start(spec, Lifetime::WithCaller));
  auto stream = connect(id);
  auto tried = stream ? wire::InitClient(std::move(*stream)).ping() : Failure(stream.error());
  TRY(stop(id));
  return tried;
}

Protections DockerBackend::probe() {
  const auto tried = try_sandbox();
  Protections protections;
  if (facts_) protections = protections_for(*facts_, SandboxSpec{});
  Protection sandbox{"sandbox", Strength::Hard, facts_ ? facts_->name : std::string(), ""};
  if (!tried) {
    sandbox.strength = Strength::Missing;
    sandbox.fix = tried.error().message;
  }
  protections.push_back(std::move(sandbox));
  return protections;
}

bool DockerBackend::is_among(const std::vector<std::string>& containers, const Found& one) {
  const std::string name = container_name(one.remembered.id);
  return std::find(containers.begin(), containers.end(), name) != containers.end();
}

void DockerBackend::sweep_containers(SweepMode mode, SweepReport& report) {
  const auto found = find_all();
  if (!found) return;
  const auto now = milliseconds_now();
  auto owed = owed_removals(engine_->address().text());
  for (std::string& container : abandoned_starts(engine_->address().text()))
    owed.push_back(std::move(container));
  for (const Found& one : *found) {
    const std::string name = container_name(one.remembered.id);
    const bool lives = one.state == "running" || one.state == "paused";
    const auto clock = kept_clock(one.remembered.id);
    const auto end = clock ? clock->over_at : one.remembered.expires_at;
    if (!is_among(owed, one) && now < (lives ? end : one.made_at) + kPatience) continue;
    const std::string words = fmt::format("container {}", name);
    const bool is_removed = mode == SweepMode::DryRun || stop(one.remembered.id);
    (is_removed ? report.removed : report.failed).push_back(words);
  }
}

SweepReport DockerBackend::sweep(SweepMode mode) {
  SweepReport report;
  sweep_kept(mode, report);
  sweep_owed_removals(mode, report);
  if (!engine_with_sandboxes()) return report;
  sweep_containers(mode, report);
  if (mode == SweepMode::Remove) (void)settle_removals();
  if (const auto current = volume()) (*current)->sweep_others(*engine_, mode, report);
  return report;
}

}  // namespace nutshell::docker
