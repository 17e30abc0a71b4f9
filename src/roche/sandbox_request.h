// A request for a sandbox as clients of Roche make it, and what it means here. Whatever has no
// meaning here is refused: nothing that was asked for is left out silently. The command line and
// the daemon share this.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/exec.h"
#include "core/sandbox_spec.h"
#include "core/sandbox_status.h"

namespace nutshell::roche {

inline constexpr const char* kDefaultProvider = "docker";
inline constexpr const char* kDefaultImage = "python:3.12-slim";
inline constexpr std::chrono::seconds kDefaultTimeout{300};  // of a sandbox, and of a command

struct MountRequest {
  std::string host_path;
  std::string container_path;
  bool is_read_only = true;
};

struct SandboxRequest {
  std::string provider = {};  // empty: the default
  std::string image = {};     // empty: the default
  std::optional<std::string> memory = {};
  std::optional<double> cpus = {};
  std::uint64_t timeout_seconds = 0;  // 0: the default
  bool has_network = false;
  bool is_writable = false;
  std::vector<std::string> environment = {};  // NAME=VALUE
  std::vector<MountRequest> mounts = {};
  std::string kernel = {};
  std::string root_file_system = {};
  std::vector<std::string> allowed_hosts = {};  // of the network
  std::vector<std::string> writable_paths = {};
};

// Decisions of the owner of this machine.
struct Choices {
  // The backend of the provider "docker": its name, or "auto" for an engine that answers, else
  // native.
  std::string docker = "auto";
  // Images by the name that is asked for; "host" is this machine's own system.
  std::map<std::string, std::string> images;

  // Parses "python:3.12-slim=host" items.
  static Result<Choices> parse(const std::string& docker, const std::vector<std::string>& images);
};

// Whether a sandbox of this spec could start here; the error says why not.
using Check = std::function<Result<>(const SandboxSpec&)>;

// The spec of the sandbox. Its labels say what was asked for.
Result<SandboxSpec> spec_of(const SandboxRequest& request, const Choices& choices,
                            const Check& check);

// A sandbox as clients of Roche see it.
struct SandboxInfo {
  std::string id;
  std::string_view status;      // running or paused
  std::string provider;         // as asked for
  std::string image;            // likewise
  std::string backend;          // what isolates it
  std::int64_t expires_at = 0;  // seconds since 1970
};
SandboxInfo info_of(const SandboxStatus& status);

// Told to a client that asks for a writable root file system.
inline constexpr std::string_view kWritableNote =
    "writable: commands can write to /workspace and /tmp, as in every sandbox, and nowhere else";

// Refuses results that have no exit status in Roche: a timeout, too much output, a sandbox that
// ended.
Result<> refuse_without_status(const ExecResult& result, const ExecRequest& request);
// As a shell tells it: 128 and its number for a signal.
int exit_code_of(const ExecResult& result);

// Labels of every sandbox that was made through this.
const std::map<std::string, std::string>& own_labels();
// Whether a list for this provider has it; an empty provider is the default one.
bool is_of_provider(const SandboxInfo& info, const std::string& provider);

// Parses "HOST:TARGET[:ro|rw]".
Result<MountRequest> parse_mount(const std::string& text);

// The text with U+FFFD in place of bytes that are not UTF-8: Roche's messages hold only text.
std::string to_text(std::string_view bytes);

}  // namespace nutshell::roche
