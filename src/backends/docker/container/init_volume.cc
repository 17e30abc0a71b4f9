#include "backends/docker/container/init_volume.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "backends/docker/container/spec_labels.h"
#include "backends/docker/container/tar.h"
#include "backends/docker/container/volume_container.h"
#include "backends/docker/engine/engine_json.h"
#include "backends/docker/notes/program_hash.h"
#include "base/file.h"
#include "base/sha256.h"
#include "containers/container_layout.h"

namespace nutshell::docker {
namespace {

using containers::kInitDirectory;

constexpr std::size_t kMostProgramBytes = 64U << 20U;
constexpr std::size_t kHashLetters = 16;
constexpr const char* kTemporaryName = ".whole";
constexpr const char* kProgramName = "nutshell-init";
constexpr const char* kPrefix = "nutshell-init-";

std::string name_for(const std::string& hash) {
  return kPrefix + hash.substr(0, kHashLetters);
}

}  // namespace

std::string make_init_archive(std::string_view program) {
  std::string archive = tar_head({.name = kTemporaryName, .size = program.size()});
  archive += program;
  archive.append((kTarBlock - program.size() % kTarBlock) % kTarBlock, '\0');
  archive +=
      tar_head({.name = kProgramName, .type = TarEntry::Type::HardLink, .link = kTemporaryName});
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
                   fmt::format("{} was replaced while it was read: try again", program_.native()));
  }
  const Json volume = {{"Name", name_}, {"Labels", {{kInitLabel, name_}}}};
  TRY(engine.call({.method = "POST", .path = "/volumes/create", .body = volume.dump()}));
  const VolumeContainer container =
      TRY(VolumeContainer::create(engine, {name_, kInitDirectory, image}));
  return container.unpack(kInitDirectory, make_init_archive(program));
}

void InitVolume::sweep_others(EngineClient& engine, SweepMode mode, SweepReport& report) const {
  sweep_volume_containers(engine, mode, report);  // first: their volumes are in use until then
  const std::string filters = Json{{"label", {kInitLabel}}, {"dangling", {"true"}}}.dump();
  const auto answer = engine.call({.path = "/volumes?filters=" + http::percent_encode(filters)});
  const auto document = answer ? parse_json(answer->body) : Result<Json>(Json());
  const Json* volumes = document ? member(*document, "Volumes") : nullptr;
  if (volumes == nullptr || !volumes->is_array()) return;
  for (const Json& volume : *volumes) {
    const std::string name = text_of(volume, "Name");
    if (name == name_ || !name.starts_with(kPrefix)) continue;
    // The engine refuses to remove a volume that is in use after all.
    if (mode == SweepMode::Remove && !engine.call({.method = "DELETE", .path = "/volumes/" + name}))
      continue;
    report.removed.push_back(fmt::format("engine volume {}", name));
  }
}

}  // namespace nutshell::docker
