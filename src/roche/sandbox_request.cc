#include "roche/sandbox_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/byte_size.h"
#include "base/utf8.h"
#include "images/image_root.h"

namespace nutshell::roche {
namespace {

constexpr const char* kManagedLabel = "roche.managed";
constexpr const char* kProviderLabel = "roche.provider";
constexpr const char* kImageLabel = "roche.image";
constexpr const char* kNative = "native";  // the backend; the rest are Roche's words
constexpr const char* kHost = "host";
constexpr const char* kAuto = "auto";

// Providers that are backends of the same name.
constexpr std::array<std::string_view, 3> kOwnProviders = {"native", "podman", "gvisor"};
// Directories that commands may write to in every sandbox.
constexpr std::array<std::string_view, 3> kWritable = {"/workspace", "/tmp", "/dev/shm"};

Failure unsupported(std::string message) {
  return failure(ErrorCode::Unsupported, std::move(message));
}

// Lexically: "/tmp/../etc" is not below /tmp.
bool is_writable_everywhere(const std::string& path) {
  const std::string plain = std::filesystem::path(path).lexically_normal().native();
  return std::any_of(kWritable.begin(), kWritable.end(), [&](std::string_view directory) {
    return plain == directory || plain.starts_with(std::string(directory) + "/");
  });
}

Result<> refuse_what_is_not_here(const SandboxRequest& request) {
  if (request.has_network) {
    return unsupported("network: a sandbox has no network, not even to chosen hosts");
  }
  if (!request.kernel.empty() || !request.root_file_system.empty()) {
    return unsupported("kernel and rootfs belong to the provider firecracker, which is not here");
  }
  for (const std::string& path : request.writable_paths) {
    if (is_writable_everywhere(path)) continue;
    return unsupported(
        fmt::format("fs_paths: {} cannot be made writable; /workspace and /tmp are, "
                    "in every sandbox",
                    path));
  }
  return {};
}

Result<Limits> limits_of(const SandboxRequest& request) {
  Limits limits;
  if (request.memory) limits.memory_bytes = TRY(parse_byte_size(*request.memory));
  if (request.cpus) {
    constexpr double kMostCores = 1000;
    if (!(*request.cpus > 0 && *request.cpus <= kMostCores)) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("cpus is more than 0 and at most {}", kMostCores));
    }
    limits.millicpus = static_cast<std::uint32_t>(std::llround(*request.cpus * 1000));
  }
  return limits;
}

void add_mounts(SandboxSpec& spec, const SandboxRequest& request) {
  for (const MountRequest& mount : request.mounts) {
    if (mount.is_read_only) {
      spec.mounts.push_back({mount.host_path, mount.container_path});
    } else {
      spec.unsafe_mounts.push_back(
          {mount.host_path, mount.container_path, UnsafeMount::Access::ReadWrite});
    }
  }
}

std::string or_default(const std::string& given, const char* otherwise) {
  return given.empty() ? otherwise : given;
}

// An image of a sandbox that is not a container of an engine: one of the store, or this machine's
// own system, but only if that was asked for.
Result<> choose_image(SandboxSpec& spec, const Choices& choices) {
  if (const auto found = choices.images.find(spec.image); found != choices.images.end()) {
    spec.image = found->second;
  }
  if (spec.image == kHost) {
    spec.image.clear();
    return {};
  }
  if (images::is_stored(spec.image)) return {};
  return failure(
      ErrorCode::Unavailable,
      fmt::format(
          "the backend {0} has no image {1}: get it with 'nutshell "
          "image pull {1}', ask for the image \"host\" to use this machine's own system, or "
          "map the name to it (see docs/migrate/roche.md)",
          spec.backend, spec.image));
}

// The backends to try, in this order.
Result<std::vector<std::string>> backends_for(const std::string& provider, const Choices& choices) {
  if (provider == kDefaultProvider) {
    if (choices.docker == kAuto) return std::vector<std::string>{kDefaultProvider, kNative};
    return std::vector<std::string>{choices.docker};
  }
  if (std::find(kOwnProviders.begin(), kOwnProviders.end(), provider) != kOwnProviders.end()) {
    return std::vector<std::string>{provider};
  }
  return unsupported(fmt::format("provider {}: there is no such backend here; there are {}, {}",
                                 provider, kDefaultProvider, fmt::join(kOwnProviders, ", ")));
}

// Whether the error says that no engine answers this user: only that leads to another backend.
bool is_absence(const Error& error) {
  return error.code == ErrorCode::Unavailable || error.code == ErrorCode::NotFound ||
         error.code == ErrorCode::PermissionDenied;
}

bool has_own_images(const std::string& backend) {
  return backend == kDefaultProvider || backend == "podman";
}

}  // namespace

Result<Choices> Choices::parse(const std::string& docker, const std::vector<std::string>& images) {
  Choices choices;
  if (!docker.empty()) choices.docker = docker;
  if (choices.docker != kAuto && choices.docker != kDefaultProvider && choices.docker != kNative) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("the backend of Roche's provider docker is auto, docker or native, "
                               "not '{}'",
                               docker));
  }
  for (const std::string& item : images) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == item.size()) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("'{}' must be IMAGE=IMAGE, or IMAGE=host", item));
    }
    choices.images[item.substr(0, equals)] = item.substr(equals + 1);
  }
  return choices;
}

Result<SandboxSpec> spec_of(const SandboxRequest& request, const Choices& choices,
                            const Check& check) {
  TRY(refuse_what_is_not_here(request));
  SandboxSpec spec;
  const std::string provider = or_default(request.provider, kDefaultProvider);
  const std::string image = or_default(request.image, kDefaultImage);
  spec.limits = TRY(limits_of(request));
  spec.ttl =
      request.timeout_seconds == 0
          ? kDefaultTimeout
          : std::chrono::seconds(std::min<std::uint64_t>(request.timeout_seconds, kYearMs / 1000));
  spec.environment = request.environment;
  add_mounts(spec, request);
  spec.labels = own_labels();
  spec.labels[kProviderLabel] = provider;
  spec.labels[kImageLabel] = image;
  const std::vector<std::string> backends = TRY(backends_for(provider, choices));
  for (const std::string& backend : backends) {
    spec.backend = backend;
    spec.image = image;
    if (!has_own_images(backend)) TRY(choose_image(spec, choices));
    TRY(check_spec(spec));
    const auto possible = check(spec);
    if (possible) return spec;
    if (backend == backends.back() || !is_absence(possible.error()))
      return Failure(possible.error());
  }
  return failure(ErrorCode::Internal, "no backend was tried");
}

SandboxInfo info_of(const SandboxStatus& status) {
  const auto label = [&](const char* name) {
    const auto found = status.spec.labels.find(name);
    return found == status.spec.labels.end() ? std::string() : found->second;
  };
  SandboxInfo info;
  info.id = status.id;
  info.status = word_for(status.state);
  info.provider = or_default(label(kProviderLabel), status.spec.backend.c_str());
  info.image = or_default(label(kImageLabel), status.spec.image.c_str());
  info.backend = status.spec.backend;
  const auto end = std::chrono::system_clock::now() + status.time_left;
  info.expires_at =
      std::chrono::duration_cast<std::chrono::seconds>(end.time_since_epoch()).count();
  return info;
}

Result<> refuse_without_status(const ExecResult& result, const ExecRequest& request) {
  switch (result.outcome) {
    case Outcome::TimedOut:
      return failure(ErrorCode::DeadlineExceeded,
                     fmt::format("the command and all its processes were killed after {}{}",
                                 format_duration(request.limits.timeout),
                                 result.detail.empty() ? "" : " (" + result.detail + ")"));
    case Outcome::OutputLimit:
      return failure(ErrorCode::ResourceExhausted,
                     "the command was killed, because it wrote more output than it may");
    case Outcome::Cancelled:
      return failure(ErrorCode::Cancelled, "the command was cancelled");
    case Outcome::Lost:
      return failure(ErrorCode::NotFound,
                     "the sandbox ended while the command ran: " + result.detail);
    default:
      return {};
  }
}

int exit_code_of(const ExecResult& result) {
  constexpr int kKilled = 128 + 9;
  if (result.outcome == Outcome::Signalled) return 128 + result.signal;
  return result.outcome == Outcome::OutOfMemory ? kKilled : result.exit_code;
}

const std::map<std::string, std::string>& own_labels() {
  static const std::map<std::string, std::string> kLabels = {{kManagedLabel, "true"}};
  return kLabels;
}

bool is_of_provider(const SandboxInfo& info, const std::string& provider) {
  return info.provider == or_default(provider, kDefaultProvider);
}

Result<MountRequest> parse_mount(const std::string& text) {
  const std::size_t first = text.find(':');
  if (first == std::string::npos) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("the mount '{}' must be HOST:TARGET[:ro|rw]", text));
  }
  MountRequest mount{text.substr(0, first), text.substr(first + 1), true};
  const std::size_t second = mount.container_path.find(':');
  if (second == std::string::npos) return mount;
  const std::string mode = mount.container_path.substr(second + 1);
  mount.container_path.resize(second);
  if (mode != "ro" && mode != "rw") {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("the mode of a mount is ro or rw, not '{}'", mode));
  }
  mount.is_read_only = mode == "ro";
  return mount;
}

std::string to_text(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    text += length == 0 ? std::string_view("\xEF\xBF\xBD") : bytes.substr(0, length);
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

}  // namespace nutshell::roche
