#include "backends/registry.h"

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

}  // namespace nutshell
