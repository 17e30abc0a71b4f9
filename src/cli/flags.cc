#include "cli/flags.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <filesystem>

#include "backends/registry.h"
#include "base/byte_size.h"
#include "cli/command_line.h"
#include "core/workspace_volume.h"

namespace nutshell::cli {
namespace {

Failure about(std::string_view flag, Error error) {
  return while_doing(fmt::format("--{}", flag), std::move(error));
}

Result<> set_bytes(const std::optional<std::string>& text, std::string_view flag,
                   std::uint64_t& to) {
  if (!text) return {};
  auto value = parse_byte_size(*text);
  if (!value) return about(flag, std::move(value).error());
  to = *value;
  return {};
}

template <typename Duration>
Result<> set_duration(const std::optional<std::string>& text, std::string_view flag, Duration& to) {
  if (!text) return {};
  auto value = parse_duration(*text);
  if (!value) return about(flag, std::move(value).error());
  to = std::chrono::ceil<Duration>(*value);
  return {};
}

template <typename Number>
Result<> set_count(const std::optional<std::string>& text, std::string_view flag, Number& to) {
  if (!text) return {};
  const char* end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, to);
  if (error == std::errc() && stopped == end) return {};
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("--{}: '{}' is not a whole number like 64", flag, *text));
}

Result<> set_cpus(const std::optional<std::string>& text, std::uint32_t& millicpus) {
  if (!text) return {};
  double value = 0;
  const char* end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || stopped != end || !(value > 0) || value > 1000) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("--cpus: '{}' is not a number of cores like 1, 0.5 or 2", *text));
  }
  millicpus = static_cast<std::uint32_t>(std::lround(value * 1000));
  return {};
}

Result<> set_labels(const std::vector<std::string>& words, std::map<std::string, std::string>& to) {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("--label: '{}' is not NAME=VALUE", word));
    }
    to[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return {};
}

// The directory as it is called from anywhere: whoever mounts it has another working directory.
Result<std::string> real_directory(const std::string& path, std::string_view flag) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  if (error || !std::filesystem::is_directory(real, error)) {
    return failure(ErrorCode::NotFound, fmt::format("--{}: '{}' is no directory here", flag, path));
  }
  return real.native();
}

// SRC:DST[:ro]; a colon in either cannot be said.
Result<UnsafeMount> parse_unsafe_mount(const std::string& text) {
  using enum UnsafeMount::Access;
  const std::size_t colon = text.find(':');
  const std::size_t second = colon == std::string::npos ? colon : text.find(':', colon + 1);
  const std::string mode = second == std::string::npos ? "" : text.substr(second + 1);
  const std::string target =
      colon == std::string::npos ? "" : text.substr(colon + 1, second - colon - 1);
  const bool is_good = colon > 0 && target.starts_with('/') && target.size() > 1 &&
                       (second == std::string::npos || mode == "ro" || mode == "rw");
  if (!is_good) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("--unsafe-mount: '{}' is not SRC:DST or SRC:DST:ro with an absolute "
                               "DST, for example ./data:/workspace/data:ro",
                               text));
  }
  return UnsafeMount{TRY(real_directory(text.substr(0, colon), "unsafe-mount")), target,
                     mode == "ro" ? ReadOnly : ReadWrite};
}

Result<WorkspaceMode> parse_workspace_mode(const std::string& text) {
  using enum WorkspaceMode;
  if (text == "auto") return Auto;
  if (text == "overlay") return Overlay;
  if (text == "copy") return Copy;
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("--workspace-mode: '{}' is not auto, overlay or copy", text));
}

Result<> set_host_directories(const Flags& flags, SandboxSpec& spec) {
  if (flags.workspace && is_volume(*flags.workspace)) {
    spec.workspace = *flags.workspace;
    TRY(check_volume(spec));
  } else if (flags.workspace) {
    spec.workspace = TRY(real_directory(*flags.workspace, "workspace"));
  }
  if (flags.workspace_mode) {
    spec.workspace_mode = TRY(parse_workspace_mode(*flags.workspace_mode));
    if (!flags.workspace) {
      return failure(ErrorCode::InvalidArgument,
                     "--workspace-mode says how a directory comes in, and none is given: add "
                     "--workspace DIR, or leave it out");
    }
  }
  for (const std::string& text : flags.unsafe_mounts)
    spec.unsafe_mounts.push_back(TRY(parse_unsafe_mount(text)));
  return {};
}

// NAME alone takes the value from our own environment, as env(1)-like tools do.
Result<std::vector<std::string>> environment_of(const std::vector<std::string>& words) {
  std::vector<std::string> list;
  for (const std::string& word : words) {
    if (word.find('=') != std::string::npos) {
      list.push_back(word);
      continue;
    }
    const char* value = std::getenv(word.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("--env {0}: {0} is not set here; give {0}=VALUE", word));
    }
    list.push_back(word + "=" + value);
  }
  return list;
}

WindowSize window_of_terminal() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 &&
      ::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0) {
    return {};
  }
  return size.ws_row == 0 ? WindowSize{} : WindowSize{size.ws_row, size.ws_col};
}

}  // namespace

void add_sandbox_flags(const CommandLine& command, Flags& flags) {
  const char* group = "Sandbox";
  command.add_option("--backend", flags.backend, "How it is isolated").group(group);
  command
      .add_option("--image", flags.image,
                  "Root file system: the name of an imported image, a directory or a tar (this "
                  "machine's /usr)")
      .group(group);
  command
      .add_option("--runtime", flags.runtime,
                  "What a container engine runs it with, runsc say (the engine's own)")
      .group(group);
  command
      .add_option("--memory", flags.memory, "Memory, files in /workspace and /tmp included (512m)")
      .group(group);
  command.add_option("--cpus", flags.cpus, "Cores (1)").group(group);
  command.add_option("--pids", flags.pids, "Processes and threads (64)").group(group);
  command.add_option("--disk", flags.disk, "/workspace and /tmp together (512m)").group(group);
  command
      .add_option("--workspace", flags.workspace,
                  "Directory that /workspace begins as; it stays untouched until 'nutshell apply'. "
                  "volume:NAME: /workspace is a volume of the engine's, and stays")
      .group(group);
  command
      .add_option("--workspace-mode", flags.workspace_mode,
                  "overlay: layers over that directory; copy: a copy of it; auto: what works")
      .group(group);
  command
      .add_option("--unsafe-mount", flags.unsafe_mounts,
                  "SRC:DST[:ro]: a directory of this machine, directly; may be repeated")
      .group(group);
  command.add_option("--open-files", flags.open_files, "Open files per process (1024)")
      .group(group);
  command.add_option("--ttl", flags.ttl, "Life of the sandbox (300s)").group(group);
  command
      .add_option("--idle-timeout", flags.idle_timeout,
                  "End it when nothing runs this long (never)")
      .group(group);
  command.add_option("--label", flags.labels, "NAME=VALUE, to find it by; may be repeated")
      .group(group);
  command
      .add_option("--require", flags.requirements,
                  "Refuse to start without: seccomp,landlock,cgroup,memory=hard…")
      .group(group);
  command
      .add_option("--unsafe-without", flags.unsafe_without,
                  "Accept that a protection is missing (landlock)")
      .group(group);
  command.add_option("--config", flags.config, "Take flags not given here from this TOML file")
      .group(group);
}

void add_exec_flags(const CommandLine& command, Flags& flags) {
  const char* group = "Command";
  command.add_option("--timeout", flags.timeout, "Kill it and all its processes after this (30s)")
      .group(group);
  command.add_option("--cpu-time", flags.cpu_time, "CPU seconds, children included (300s)")
      .group(group);
  command
      .add_option("--output-limit", flags.output_limit, "Bytes of stdout and stderr together (64m)")
      .group(group);
  command
      .add_option("-e,--env", flags.environment, "NAME=VALUE, or NAME to pass on; may be repeated")
      .group(group);
  command.add_option("-w,--workdir", flags.workdir, "Directory to run in (/workspace)")
      .group(group);
  command.add_flag("-i,--stdin,--interactive", flags.has_input, "Connect standard input")
      .group(group);
  command.add_flag("-t,--tty", flags.has_terminal, "Give it a terminal").group(group);
  command.add_flag("--json", flags.is_json, "Capture the output; print one JSON object")
      .group(group);
}

void add_copy_flag(const CommandLine& command, Flags& flags) {
  command
      .add_option("--copy", flags.copies,
                  "SRC[:DST]: copy a file or directory in first (to /workspace); may be repeated")
      .group("Sandbox");
}

// A name here may have colons; what begins the place inside is the last one before a slash.
Result<std::vector<Copied>> to_copies(const Flags& flags) {
  std::vector<Copied> copies;
  for (const std::string& text : flags.copies) {
    const std::size_t colon = text.rfind(":/");
    Copied copied{text.substr(0, colon), "/workspace"};
    if (colon != std::string::npos) copied.target = text.substr(colon + 1);
    if (copied.source.empty()) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("--copy {}: SRC[:DST] is expected, DST an absolute path inside, "
                                 "such as --copy job.py:/workspace/main.py",
                                 text));
    }
    copies.push_back(std::move(copied));
  }
  return copies;
}

Result<SandboxSpec> to_spec(const Flags& flags) {
  SandboxSpec spec;
  spec.backend = flags.backend.value_or(backend_registry().front().name);
  spec.image = flags.image.value_or("");
  spec.runtime = flags.runtime.value_or("");
  if (flags.image && flags.image->empty()) {
    return failure(ErrorCode::InvalidArgument,
                   "--image: give the name of an imported image, a directory or a tar archive");
  }
  TRY(set_bytes(flags.memory, "memory", spec.limits.memory_bytes));
  TRY(set_bytes(flags.disk, "disk", spec.limits.disk_bytes));
  TRY(set_count(flags.pids, "pids", spec.limits.processes));
  TRY(set_count(flags.open_files, "open-files", spec.limits.open_files));
  TRY(set_cpus(flags.cpus, spec.limits.millicpus));
  TRY(set_duration(flags.cpu_time, "cpu-time", spec.limits.cpu_time));
  TRY(set_duration(flags.ttl, "ttl", spec.ttl));
  TRY(set_duration(flags.idle_timeout, "idle-timeout", spec.idle_timeout));
  TRY(set_labels(flags.labels, spec.labels));
  TRY(set_host_directories(flags, spec));
  spec.working_directory = flags.workdir.value_or(spec.working_directory);
  spec.unsafe_without = flags.unsafe_without;
  for (const std::string& text : flags.requirements) {
    auto parsed = parse_requirements(text);
    if (!parsed) return about("require", std::move(parsed).error());
    spec.requirements.insert(spec.requirements.end(), parsed->begin(), parsed->end());
  }
  TRY(check_spec(spec));
  return spec;
}

Result<ExecRequest> to_exec(const Flags& flags) {
  ExecRequest request;
  request.argv = flags.command;
  request.environment = TRY(environment_of(flags.environment));
  request.working_directory = flags.workdir.value_or("");
  if (flags.has_input) request.standard_input = StandardInput::Streamed;
  if (flags.has_terminal) {
    request.terminal = Terminal::Pty;
    request.window = window_of_terminal();
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    if (const char* kind = std::getenv("TERM"))
      request.environment.push_back(std::string("TERM=") + kind);
  }
  TRY(set_duration(flags.timeout, "timeout", request.limits.timeout));
  TRY(set_duration(flags.cpu_time, "cpu-time", request.limits.cpu_time));
  TRY(set_bytes(flags.output_limit, "output-limit", request.limits.output_bytes));
  TRY(check_exec(request));
  return request;
}

}  // namespace nutshell::cli
