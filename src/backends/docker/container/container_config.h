// Writes a sandbox's spec as the body of the engine's "create container". It asks for every
// protection by name, whatever the engine's defaults are, and overrides what the image says about
// how it wants to be run.
#pragma once

#include <string>
#include <vector>

#include "backends/docker/container/spec_labels.h"
#include "backends/docker/images/image_source.h"
#include "core/sandbox_spec.h"

namespace nutshell::docker {

struct ContainerPlan {
  SandboxSpec spec;
  ImageFacts image;
  Labels labels;
  std::string init_volume;
  std::string workspace_volume;  // empty: /workspace ends with the sandbox
  std::string runtime;           // empty: the engine's default
  bool is_gvisor = false;        // the runtime is gVisor
  bool has_seccomp = false;      // the engine filters system calls
  EngineKind engine = EngineKind::Docker;
  // The limits that the engine can keep. Some engines refuse a request that names another one.
  struct Kept {
    bool memory = true;
    bool cpu = true;
    bool processes = true;
  };
  Kept kept = {};
};

// Returns JSON.
std::string create_body(const ContainerPlan& plan);

}  // namespace nutshell::docker
