// What a sandbox is to be. Plain data with safe defaults; what weakens it is called unsafe_….
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/limits.h"

namespace nutshell {

// A floor the caller insists on: the protection must be there, and if is_hard, enforced by the
// kernel and not only watched.
struct Requirement {
  std::string protection;
  bool is_hard = false;

  bool operator==(const Requirement&) const = default;
};

// A directory of the host, directly: what the sandbox writes there is written on the host.
struct UnsafeMount {
  enum class Access { ReadOnly, ReadWrite };
  std::string source;  // absolute path on the host
  std::string target;  // absolute path in the sandbox
  Access access = Access::ReadOnly;

  bool operator==(const UnsafeMount&) const = default;
};

// How /workspace comes to hold the host directory that it begins as.
enum class WorkspaceMode : std::uint8_t {
  Auto,     // layers over it where the kernel can, else a copy
  Overlay,  // layers, or no start
  Copy,
};

// Whether an image may be a file or directory of this machine. Where it may not, nothing is looked
// up in the file system, so that no answer tells what is there.
enum class ImageNaming : std::uint8_t { NameOrPath, NameOnly };

struct SandboxSpec {
  std::string backend;  // empty: the first of the registry
  std::string image;    // empty: the backend's default; else what it understands (a directory)
  ImageNaming image_naming = ImageNaming::NameOrPath;
  std::string runtime;  // what a container engine runs it with ("runsc"); empty: the engine's own
  Limits limits;
  std::chrono::milliseconds ttl{300'000};
  std::chrono::milliseconds idle_timeout{0};  // zero: no idle timeout, the ttl alone ends it
  std::vector<std::string> environment;       // NAME=VALUE for every exec
  std::string working_directory = "/workspace";
  std::string workspace;  // host directory that /workspace begins as, copy-on-write; empty: none
  WorkspaceMode workspace_mode = WorkspaceMode::Auto;
  // Its files are never taken back or forked, so its layers stay as they are: it starts faster.
  bool is_for_one_command = false;
  std::vector<UnsafeMount> unsafe_mounts;
  std::map<std::string, std::string> labels;
  std::vector<Requirement> requirements;
  std::vector<std::string> unsafe_without;  // protections whose absence is accepted, by name
};

// At most 64, of at most 63 and 256 bytes; names beginning with "nutshell." are reserved.
Result<> check_labels(const std::map<std::string, std::string>& labels);
// NAME=VALUE each, at most 1 MiB in all.
Result<> check_environment(const std::vector<std::string>& environment);
Result<> check_spec(const SandboxSpec& spec);

// "seccomp,memory=hard" → requirements.
Result<std::vector<Requirement>> parse_requirements(std::string_view text);

}  // namespace nutshell
