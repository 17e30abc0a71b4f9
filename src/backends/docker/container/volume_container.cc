#include "backends/docker/container/volume_container.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backends/docker/engine/engine_json.h"
#include "backends/docker/notes/owed_removals.h"
#include "base/random_id.h"
#include "containers/container_layout.h"
#include "containers/ttl_clock.h"

namespace nutshell::docker {
namespace {

constexpr const char* kPrefix = "nutshell-fill-";
constexpr const char* kLabel = "nutshell.fill";  // names the volume

std::string body_for(const VolumeContainer::Place& place) {
  const Json body = {
      {"Image", place.image},
      {"Entrypoint", {containers::kInitProgram}},
      {"Cmd", Json::array()},
      {"Labels", {{kLabel, place.volume}}},
      {"HostConfig",
       {{"NetworkMode", "none"},
        {"CapDrop", {"ALL"}},
        {"Mounts",
         {{{"Type", "volume"},
           {"Source", place.volume},
           {"Target", place.target},
           {"VolumeOptions", {{"NoCopy", true}}}}}}}},
  };
  return body.dump();
}

Result<> remove(EngineClient& engine, const std::string& name) {
  auto removed = engine.call({.method = "DELETE", .path = "/containers/" + name + "?force=1"});
  if (!removed && removed.error().code != ErrorCode::NotFound)
    return Failure(std::move(removed).error());
  return {};
}

// Engines put a slash before the name.
std::string name_of(const Json& container) {
  const auto names = texts_of(container, "Names", 1);
  if (names.empty()) return {};
  return names.front().starts_with('/') ? names.front().substr(1) : names.front();
}

}  // namespace

Result<VolumeContainer> VolumeContainer::create(EngineClient& engine, const Place& place) {
  SweepReport ignored;
  sweep_volume_containers(engine, SweepMode::Remove, ignored);
  // Made before the engine is asked: the container may exist even if the answer is lost.
  VolumeContainer container(engine, kPrefix + random_id(12));
  TRY(engine.call({.method = "POST",
                   .path = "/containers/create?name=" + container.name_,
                   .body = body_for(place),
                   .time = kStartTime}));
  return container;
}

VolumeContainer::~VolumeContainer() {
  if (name_.empty() || remove(engine_, name_)) return;
  (void)owe_removal(engine_.address().text(), name_);  // without the note a sweep removes it
}

Result<> VolumeContainer::unpack(const std::string& directory, std::string archive) const {
  TRY(engine_.call({.method = "PUT",
                    .path = fmt::format("/containers/{}/archive?path={}", name_, directory),
                    .body = std::move(archive),
                    .type = "application/x-tar",
                    .time = kStartTime}));
  return {};
}

void sweep_volume_containers(EngineClient& engine, SweepMode mode, SweepReport& report) {
  const std::string filters = Json{{"label", {kLabel}}, {"status", {"created"}}}.dump();
  const auto answer =
      engine.call({.path = "/containers/json?all=1&filters=" + http::percent_encode(filters)});
  const auto found = answer ? parse_json(answer->body) : Result<Json>(Json());
  if (!found || !found->is_array()) return;
  for (const Json& container : *found) {
    const std::string name = name_of(container);
    const std::chrono::milliseconds made_at = std::chrono::seconds(number_of(container, "Created"));
    if (!name.starts_with(kPrefix) || containers::milliseconds_now() < made_at + kStartTime)
      continue;
    if (mode == SweepMode::Remove && !remove(engine, name)) continue;  // another process removed it
    report.removed.push_back(fmt::format("container {}", name));
  }
}

}  // namespace nutshell::docker
