#include "backends/registry.h"

#include "backends/daemon_client/daemon_backend.h"
#include "backends/native/native_backend.h"

namespace nutshell {

const std::vector<BackendEntry>& backend_registry() {
  static const std::vector<BackendEntry> kEntries = {
      {"native", "Linux namespaces, cgroups, seccomp, Landlock; no daemon, no image",
       [](const BackendContext& context) {
         return native::make_native_backend(context.init, context.programs);
       }},
  };
  return kEntries;
}

const std::vector<BackendEntry>& daemon_backend_entry() {
  static const std::vector<BackendEntry> kEntries = {
      {"daemon", "whatever the daemon has",
       [](const BackendContext& context) {
         return daemon_backend::make_daemon_backend(context.daemon.value_or(DaemonAccess{}),
                                                    context.programs);
       }},
  };
  return kEntries;
}

}  // namespace nutshell
