#include "backends/docker/container/workspace_volume.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backends/docker/container/spec_labels.h"
#include "backends/docker/container/tar.h"
#include "backends/docker/container/volume_container.h"
#include "backends/docker/engine/engine_json.h"
#include "containers/container_layout.h"

namespace nutshell::docker {
namespace {

constexpr const char* kWorkspaceLabel = "nutshell.workspace";

// A new volume belongs to root.
Result<> give_to_user(EngineClient& engine, const std::string& volume, const std::string& image) {
  const VolumeContainer container =
      TRY(VolumeContainer::create(engine, {volume, containers::kWorkspace, image}));
  std::string archive = tar_head({.name = "workspace/",
                                  .type = TarEntry::Type::Directory,
                                  .mode = 0755,
                                  .owner = containers::kSandboxUserId});
  archive.append(2 * kTarBlock, '\0');
  return container.unpack("/", std::move(archive));
}

}  // namespace

Result<std::string> workspace_volume_name(const std::string& name) {
  return fmt::format("nutshell-workspace-{}-{}", TRY(scope_of_this_user()), name);
}

Result<> ensure_workspace_volume(EngineClient& engine, const std::string& name,
                                 const std::string& image) {
  const std::string volume = TRY(workspace_volume_name(name));
  const auto found = engine.call({.path = "/volumes/" + volume});
  if (found) {
    const Labels labels = texts_by_name(TRY(parse_json(found->body)), "Labels");
    const auto label = labels.find(kWorkspaceLabel);
    if (label == labels.end() || label->second != name) {
      return failure(
          ErrorCode::AlreadyExists,
          fmt::format("the engine has a volume {} that is not a workspace: rename or remove it",
                      volume));
    }
  } else if (found.error().code == ErrorCode::NotFound) {
    const std::string scope = TRY(scope_of_this_user());
    const Json body = {{"Name", volume},
                       {"Labels", {{kWorkspaceLabel, name}, {kScopeLabel, scope}}}};
    TRY(engine.call({.method = "POST", .path = "/volumes/create", .body = body.dump()}));
  } else {
    return Failure(found.error());
  }
  return give_to_user(engine, volume, image);
}

}  // namespace nutshell::docker
