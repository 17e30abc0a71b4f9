#include "backends/registry.h"

#include "backends/daemon_client/daemon_backend.h"
#include "backends/docker/docker_backend.h"
#include "backends/docker/images/image_transfer.h"
#include "backends/gvisor/gvisor_backend.h"
#include "backends/image_engines.h"
#include "backends/native/native_backend.h"
#include "backends/saving.h"

namespace nutshell {
namespace {

std::unique_ptr<Backend> make_container_backend(docker::EngineKind kind,
                                                const BackendContext& context) {
  return std::make_unique<docker::DockerBackend>(
      docker::DockerBackend::Options{kind, context.programs, context.show_progress});
}

}  // namespace

const std::vector<BackendEntry>& backend_registry() {
  static const std::vector<BackendEntry> kEntries = {
      {native::kIdLetter, "native",
       "Linux namespaces, cgroups, seccomp, Landlock; no daemon, no image",
       [](const BackendContext& context) {
         return std::make_unique<native::NativeBackend>(context.init, context.programs,
                                                        context.show_progress);
       },
       true, true},
      {docker::id_letter(docker::EngineKind::Docker), "docker",
       "containers of a Docker engine, local or remote; needs an image",
       [](const BackendContext& context) {
         return make_container_backend(docker::EngineKind::Docker, context);
       },
       false, true},
      {docker::id_letter(docker::EngineKind::Podman), "podman",
       "containers of podman, as root or not; needs an image",
       [](const BackendContext& context) {
         return make_container_backend(docker::EngineKind::Podman, context);
       },
       false, true},
      {gvisor::kIdLetter, "gvisor",
       "a kernel of its own (runsc), as root or not; no daemon, no image",
       [](const BackendContext& context) {
         return std::make_unique<gvisor::GvisorBackend>(context.programs, context.show_progress);
       },
       false, true},
  };
  return kEntries;
}

const std::vector<ImageEngine>& image_engines() {
  const auto save_by = [](docker::EngineKind kind) {
    return [kind](const BackendContext& context, const std::string& image, int output) {
      return docker::save_image(kind, image, {output, context.show_progress});
    };
  };
  static const std::vector<ImageEngine> kEngines = {
      {"docker", save_by(docker::EngineKind::Docker)},
      {"podman", save_by(docker::EngineKind::Podman)},
  };
  return kEngines;
}

bool saves_changes_at_end(std::string_view backend) {
  return backend == "native";
}

const std::vector<BackendEntry>& daemon_backend_entry() {
  static const std::vector<BackendEntry> kEntries = {
      {'\0', "daemon", "whatever the daemon has",
       [](const BackendContext& context) {
         return daemon_backend::make_daemon_backend(context.daemon.value_or(DaemonAccess{}));
       }},
  };
  return kEntries;
}

}  // namespace nutshell
