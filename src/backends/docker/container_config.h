// A sandbox's spec as the body of the engine's "create container". Every protection is asked for by
// name, whatever the engine's own defaults are; what an image says about how it wants to be run is
// overridden.
#pragma once

#include <string>
#include <vector>

#include "backends/docker/spec_labels.h"
#include "core/sandbox_spec.h"

namespace nutshell::docker {

// Where our own things are in a container.
inline constexpr const char* kInitDirectory = "/.nutshell/bin";
inline constexpr const char* kInitProgram = "/.nutshell/bin/nutshell-init";
inline constexpr const char* kStoreDirectory = "/.nutshell/store";
inline constexpr const char* kSocketName = "@nutshell-init";

// Whoever lives in a container, and whoever only passes through it to init: apart, so that a
// command cannot end the connection it is watched by.
inline constexpr unsigned kSandboxUserId = 1000;
inline constexpr const char* kSandboxUser = "1000:1000";
inline constexpr const char* kBridgeUser = "1001:1001";

// What gVisor's own kernel may use beside the sandbox, and the threads it needs for that.
inline constexpr std::uint64_t kGvisorMemory = 128ULL << 20U;
inline constexpr std::uint32_t kGvisorThreads = 512;

struct ImageFacts {
  std::string id;                        // what runs, whatever its name means tomorrow
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> volumes;      // paths the image wants to be writable
};

enum class EngineKind { Docker, Podman };

struct ContainerPlan {
  SandboxSpec spec;
  ImageFacts image;
  Labels labels;
  std::string init_volume;
  std::string workspace_volume;  // empty: /workspace ends with the sandbox
  std::string runtime;           // empty: the engine's
  bool is_gvisor = false;        // that is what runs it
  EngineKind engine = EngineKind::Docker;
  // Which limits the engine can keep; one that it cannot keep it may refuse to hear of.
  struct Kept {
    bool memory = true;
    bool cpu = true;
    bool processes = true;
  };
  Kept kept = {};
};

// JSON.
std::string create_body(const ContainerPlan& plan);

// How a disk limit is shared out: their sizes together are the limit.
struct ScratchSizes {
  std::uint64_t workspace = 0;
  std::uint64_t temporary = 0;
  std::uint64_t shared = 0;  // /dev/shm
};
ScratchSizes scratch_sizes(const Limits& limits);

}  // namespace nutshell::docker
