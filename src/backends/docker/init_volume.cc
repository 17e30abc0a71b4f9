#include "backends/docker/init_volume.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "backends/docker/container_config.h"
#include "backends/docker/engine_json.h"
#include "backends/docker/kept_hash.h"
#include "backends/docker/tar.h"
#include "base/defer.h"
#include "base/file.h"
#include "base/random_id.h"
#include "base/sha256.h"

namespace nutshell::docker {
namespace {

constexpr std::size_t kMostProgramBytes = 64U << 20U;
constexpr std::size_t kHashLetters = 16;
constexpr const char* kPassingName = ".whole";
constexpr const char* kProgramName = "nutshell-init";
constexpr const char* kPrefix = "nutshell-init-";
constexpr const char* kFillerPrefix = "nutshell-fill-";

std::string name_for(const std::string& hash) {
  return kPrefix + hash.substr(0, kHashLetters);
}

std::string filler_body(const std::string& volume, const std::string& image) {
  const Json body = {
      {"Image", image},
      {"Entrypoint", {kInitProgram}},
      {"Cmd", Json::array()},
      {"Labels", {{kInitLabel, volume}}},
      {"HostConfig",
       {{"NetworkMode", "none"},
        {"CapDrop", {"ALL"}},
        {"Mounts",
         {{{"Type", "volume"},
           {"Source", volume},
           {"Target", kInitDirectory},
           {"VolumeOptions", {{"NoCopy", true}}}}}}}},
  };
  return body.dump();
}

}  // namespace

std::string make_init_archive(std::string_view program) {
  std::string archive = tar_head({.name = kPassingName, .size = program.size()});
  archive += program;
  archive.append((kTarBlock - program.size() % kTarBlock) % kTarBlock, '\0');
  archive +=
      tar_head({.name = kProgramName, .type = TarEntry::Type::HardLink, .link = kPassingName});
  archive.append(2 * kTarBlock, '\0');
  return archive;
}

Result<InitVolume> InitVolume::find(const std::filesystem::path& program) {
  return InitVolume(name_for(TRY(hash_of_file(program, kMostProgramBytes))), program);
}

Result<> InitVolume::ensure(EngineClient& engine, const std::string& image) const {
  const auto found = engine.call({.path = "/volumes/" + name_});
  if (found) return {};
  if (found.error().code != ErrorCode::NotFound) return Failure(found.error());
  return fill(engine, image);
}

Result<> InitVolume::fill(EngineClient& engine, const std::string& image) const {
  const std::string program = TRY(read_file(program_, kMostProgramBytes));
  if (name_for(sha256_hex(program)) != name_) {
    return failure(ErrorCode::Unavailable,
                   fmt::format("{} was replaced at this moment: try again", program_.native()));
  }
  const Json volume = {{"Name", name_}, {"Labels", {{kInitLabel, name_}}}};
  TRY(engine.call({.method = "POST", .path = "/volumes/create", .body = volume.dump()}));
  const std::string filler = kFillerPrefix + random_id(12);
  TRY(engine.call({.method = "POST",
                   .path = "/containers/create?name=" + filler,
                   .body = filler_body(name_, image),
                   .time = kStartTime}));
  const Defer removed([&] {
    // One that stays is found by its label and swept.
    (void)engine.call({.method = "DELETE", .path = "/containers/" + filler + "?force=1"});
  });
  TRY(engine.call({.method = "PUT",
                   .path = fmt::format("/containers/{}/archive?path={}", filler, kInitDirectory),
                   .body = make_init_archive(program),
                   .type = "application/x-tar",
                   .time = kStartTime}));
  return {};
}

namespace {

// Of whoever was killed, or lost his engine, while he filled a volume.
void sweep_fillers(EngineClient& engine, SweepMode mode, SweepReport& report) {
  const std::string filters = Json{{"label", {kInitLabel}}, {"status", {"created"}}}.dump();
  const auto answer =
      engine.call({.path = "/containers/json?all=1&filters=" + http::percent_encode(filters)});
  const auto found = answer ? parse_json(answer->body) : Result<Json>(Json());
  if (!found || !found->is_array()) return;
  for (const Json& container : *found) {
    const auto names = texts_of(container, "Names");
    const std::string name = names.empty() ? std::string() : names.front();
    const std::string bare = name.starts_with('/') ? name.substr(1) : name;
    const std::chrono::milliseconds made_at = std::chrono::seconds(number_of(container, "Created"));
    if (!bare.starts_with(kFillerPrefix) || milliseconds_now() < made_at + kStartTime) continue;
    if (mode == SweepMode::Remove &&
        !engine.call({.method = "DELETE", .path = "/containers/" + bare + "?force=1"}))
      continue;  // somebody else was faster
    report.removed.push_back(fmt::format("container {}", bare));
  }
}

}  // namespace

void InitVolume::sweep_others(EngineClient& engine, SweepMode mode, SweepReport& report) const {
  sweep_fillers(engine, mode, report);  // first: they keep their volumes
  const std::string filters = Json{{"label", {kInitLabel}}, {"dangling", {"true"}}}.dump();
  const auto answer = engine.call({.path = "/volumes?filters=" + http::percent_encode(filters)});
  const auto document = answer ? parse_json(answer->body) : Result<Json>(Json());
  const Json* volumes = document ? member(*document, "Volumes") : nullptr;
  if (volumes == nullptr || !volumes->is_array()) return;
  for (const Json& volume : *volumes) {
    const std::string name = text_of(volume, "Name");
    if (name == name_ || !name.starts_with(kPrefix)) continue;
    // One that is in use after all is refused by the engine.
    if (mode == SweepMode::Remove && !engine.call({.method = "DELETE", .path = "/volumes/" + name}))
      continue;
    report.removed.push_back(fmt::format("engine volume {}", name));
  }
}

}  // namespace nutshell::docker
