// A sandbox's spec as the codec carries it: to a launcher, or into a file that outlives its writer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/sandbox_spec.h"

namespace nutshell::wire {

struct PackedText {
  std::string name;
  std::string value;
  void fields(auto& visit) { visit(name, value); }
};

struct PackedMount {
  std::string source;
  std::string target;
  std::uint8_t is_writable = 0;
  void fields(auto& visit) { visit(source, target, is_writable); }
};

struct PackedSpec {
  std::string image;
  std::uint64_t memory_bytes = 0;
  std::uint32_t millicpus = 0;
  std::uint32_t processes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t cpu_seconds = 0;
  std::uint64_t ttl_ms = 0;
  std::uint64_t idle_ms = 0;
  std::vector<std::string> environment;
  std::string working_directory;
  std::vector<PackedText> labels;
  std::vector<std::string> unsafe_without;
  std::string workspace;
  std::vector<PackedMount> unsafe_mounts;
  WorkspaceMode workspace_mode = WorkspaceMode::Auto;
  std::uint8_t is_for_one_command = 0;
  void fields(auto& visit) {
    visit(image, memory_bytes, millicpus, processes, disk_bytes, open_files, cpu_seconds, ttl_ms,
          idle_ms, environment, working_directory, labels, unsafe_without, workspace, unsafe_mounts,
          workspace_mode, is_for_one_command);
  }
};

PackedSpec pack(const SandboxSpec& spec);
SandboxSpec unpack(const PackedSpec& packed);

}  // namespace nutshell::wire
