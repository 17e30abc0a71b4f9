// The description of a sandbox to be made. Plain data with safe defaults; fields that weaken the
// isolation are called unsafe_….
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/field.h"
#include "core/limits.h"
#include "core/network_policy.h"

namespace nutshell {

// A protection that the caller insists on; if is_hard, the kernel must enforce it, and not only a
// watcher.
struct Requirement {
  std::string protection;
  bool is_hard = false;

  void fields(auto& visit) { visit(protection, is_hard); }  // on the wire; in JSON it is a text
  bool operator==(const Requirement&) const = default;
};

// A directory of the host, mounted directly: what the sandbox writes there is written on the host.
struct UnsafeMount {
  enum class Access { ReadOnly, ReadWrite };
  std::string source;
  std::string target;
  Access access = Access::ReadOnly;

  static constexpr NounInfo kNoun{"UnsafeMount", "A directory of the host, mounted directly."};
  static void describe(auto&& field, auto& mount) {
    field({.number = 1,
           .name = "source",
           .help = "absolute path on the host",
           .most = kMostPathBytes,
           .presence = Presence::Required},
          mount.source);
    field({.number = 2,
           .name = "target",
           .help = "absolute path in the sandbox",
           .most = kMostPathBytes,
           .presence = Presence::Required},
          mount.target);
    field({.number = 3, .name = "access", .help = "whether the sandbox may write there"},
          mount.access);
  }

  bool operator==(const UnsafeMount&) const = default;
};
template <>
inline constexpr std::array<std::string_view, 2> kWords<UnsafeMount::Access>{"read-only",
                                                                             "read-write"};

// A directory or small file of the host that the sandbox can read.
struct Mount {
  std::string source;
  std::string target;

  static constexpr NounInfo kNoun{"Mount", "A directory or file of the host that can be read."};
  static void describe(auto&& field, auto& mount) {
    field({.number = 1,
           .name = "source",
           .help = "absolute path on the host: a directory, or a file of at most 1 MiB",
           .most = kMostPathBytes,
           .presence = Presence::Required},
          mount.source);
    field({.number = 2,
           .name = "target",
           .help = "absolute path in the sandbox",
           .most = kMostPathBytes,
           .presence = Presence::Required},
          mount.target);
  }

  bool operator==(const Mount&) const = default;
};

// Whether the tools that the user has installed outside /usr are shown to the sandbox.
enum class Toolchains : std::uint8_t { None, Auto };
template <>
inline constexpr std::array<std::string_view, 2> kWords<Toolchains>{"none", "auto"};

// Whether package managers and compilers find the caches that earlier sandboxes of this project
// left.
enum class KeepCaches : std::uint8_t { No, Yes };
template <>
inline constexpr std::array<std::string_view, 2> kWords<KeepCaches>{"no", "yes"};

// How /workspace gets the content of the host directory that it begins as.
enum class WorkspaceMode : std::uint8_t {
  Auto,     // layers over it where the kernel can, else a copy
  Overlay,  // layers, or the start fails
  Copy,
};
template <>
inline constexpr std::array<std::string_view, 3> kWords<WorkspaceMode>{"auto", "overlay", "copy"};

// Whether an image may be a file or directory of this machine. If not, nothing is looked up in the
// file system, so that no answer tells which files exist.
enum class ImageNaming : std::uint8_t { NameOrPath, NameOnly };
template <>
inline constexpr std::array<std::string_view, 2> kWords<ImageNaming>{"name-or-path", "name-only"};

// HOME of every command: scratch space outside /workspace, so that caches and settings that
// programs keep there are no changes to the workspace.
inline constexpr const char* kHomeDirectory = "/tmp/home";

struct SandboxSpec {
  std::string backend;
  std::string image;
  ImageNaming image_naming = ImageNaming::NameOrPath;
  std::string runtime;
  Limits limits;
  std::chrono::milliseconds ttl{300'000};
  std::chrono::milliseconds idle_timeout{0};
  std::vector<std::string> environment;
  std::string working_directory = "/workspace";
  std::string workspace;
  WorkspaceMode workspace_mode = WorkspaceMode::Auto;
  bool is_for_one_command = false;
  std::vector<UnsafeMount> unsafe_mounts;
  std::vector<Mount> mounts;
  Toolchains toolchains = Toolchains::None;
  KeepCaches keep_caches = KeepCaches::No;
  NetworkPolicy network;
  std::map<std::string, std::string> labels;
  std::vector<Requirement> requirements;
  std::vector<std::string> unsafe_without;
  std::string workspace_began_ns;  // digits; empty: there is no workspace

  static constexpr std::int64_t kMostItems = 64;
  static constexpr NounInfo kNoun{"SandboxSpec", "What a sandbox is to be."};
  // NOLINTNEXTLINE(readability-function-size): it is a list
  static void describe(auto&& field, auto& spec) {
    field({.number = 1,
           .name = "backend",
           .help = "what isolates it: native, docker, podman or gvisor; empty: native",
           .most = kMostNameBytes,
           .flag = "backend"},
          spec.backend);
    field({.number = 2,
           .name = "image",
           .help = "its root file system: the name of an imported image, a directory or a tar; "
                   "empty: this machine's /usr",
           .most = kMostPathBytes,
           .flag = "image"},
          spec.image);
    field({.number = 3,
           .name = "runtime",
           .help = "what a container engine runs it with, such as runsc; empty: the engine's own",
           .most = kMostNameBytes,
           .flag = "runtime"},
          spec.runtime);
    field({.number = 4, .name = "limits", .help = "how much it may use"}, spec.limits);
    field({.number = 5,
           .name = "ttl_ms",
           .help = "how long the sandbox lives",
           .least = 1,
           .most = kYearMs,
           .example = "300s",
           .flag = "ttl"},
          spec.ttl);
    field({.number = 6,
           .name = "idle_timeout_ms",
           .help = "end it when nothing ran in it for this long; 0: never, its ttl alone ends it",
           .most = kYearMs,
           .example = "60s",
           .flag = "idle-timeout"},
          spec.idle_timeout);
    field({.number = 7,
           .name = "environment",
           .help = "variables of every command in it",
           .format = Format::Variables,
           .flag = "env",
           .is_secret = true},
          spec.environment);
    field({.number = 8,
           .name = "working_directory",
           .help = "where commands run; an absolute path inside",
           .most = kMostPathBytes,
           .flag = "workdir"},
          spec.working_directory);
    field(
        {.number = 9,
         .name = "workspace",
         .help = "directory that /workspace begins as; it stays untouched until 'nutshell apply'. "
                 "volume:NAME: /workspace is a volume of the engine's, and stays",
         .most = kMostPathBytes,
         .flag = "workspace",
         .set_by = SetBy::OwnSocket},
        spec.workspace);
    field({.number = 10,
           .name = "workspace_mode",
           .help = "overlay: layers over that directory; copy: a copy of it; auto: what works",
           .flag = "workspace-mode"},
          spec.workspace_mode);
    field({.number = 11,
           .name = "unsafe_mounts",
           .help = "directories of the host, mounted directly: what is written there stays",
           .most = kMostItems,
           .flag = "unsafe-mount",
           .set_by = SetBy::OwnSocket},
          spec.unsafe_mounts);
    field({.number = 12, .name = "labels", .help = "to find it again by", .flag = "label"},
          spec.labels);
    field({.number = 13,
           .name = "require",
           .help = "protections it must have, as in seccomp or memory=hard; without them it is "
                   "not started",
           .most = kMostItems,
           .flag = "require"},
          spec.requirements);
    field({.number = 14,
           .name = "unsafe_without",
           .help = "protections whose absence is accepted, such as landlock",
           .most = kMostItems,
           .flag = "unsafe-without"},
          spec.unsafe_without);
    field({.number = 15,
           .name = "image_naming",
           .help = "whether the image may be a path of this machine",
           .set_by = SetBy::Internal},
          spec.image_naming);
    field({.number = 16,
           .name = "is_for_one_command",
           .help = "its files are never taken back or forked, so its layers stay as they are",
           .set_by = SetBy::Internal},
          spec.is_for_one_command);
    field({.number = 24,
           .name = "mounts",
           .help = "directories and small files of the host that it can read, at any path",
           .most = kMostItems,
           .flag = "mount",
           .set_by = SetBy::OwnSocket},
          spec.mounts);
    field({.number = 25,
           .name = "toolchains",
           .help = "auto: show the tools that this user has installed outside /usr (pyenv, nvm, "
                   "rustup, go …), without their settings and keys; none: do not",
           .flag = "toolchains",
           .set_by = SetBy::OwnSocket},
          spec.toolchains);
    field({.number = 26, .name = "network", .help = "what it may reach; by default nothing"},
          spec.network);
    field({.number = 27,
           .name = "keep_caches",
           .help = "yes: caches of package managers and compilers (pip, npm, go, cargo …) are kept "
                   "for later sandboxes with the same workspace; no: they end with the sandbox",
           .flag = "keep-caches",
           .set_by = SetBy::OwnSocket},
          spec.keep_caches);
    field({.number = 17,
           .name = "workspace_began_ns",
           .help = "when it got its workspace, on the clock that files have: 'nutshell apply' "
                   "compares host files with it",
           .most = 20,
           .set_by = SetBy::Nobody,
           .presence = Presence::IfSet},
          spec.workspace_began_ns);
  }
};

// Whether the sandbox sees no directory of the host but the system's.
bool is_without_directories(const SandboxSpec& spec);
// Refuses more than 64 labels, names of more than 63 and values of more than 256 bytes, and names
// that begin with "nutshell.", which are reserved.
Result<> check_labels(const std::map<std::string, std::string>& labels);
// Refuses variables that are not NAME=VALUE, and more than 1 MiB in all.
Result<> check_environment(const std::vector<std::string>& environment);
Result<> check_spec(const SandboxSpec& spec);

// Parses "seccomp,memory=hard".
Result<std::vector<Requirement>> parse_requirements(std::string_view text);
// The opposite: "memory=hard".
std::string to_text(const Requirement& requirement);

}  // namespace nutshell
