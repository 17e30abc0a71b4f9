#include "server/http/requests.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace nutshell::server {
namespace {

Result<> refuse_host_files(const service::Caller& caller, bool names_some) {
  if (!names_some || caller.host_files == service::HostFiles::Allowed) return {};
  return failure(ErrorCode::PermissionDenied,
                 "files of the host (workspace, unsafe_mounts, image) can only be named on the "
                 "daemon's own socket");
}

Result<std::vector<UnsafeMount>> mounts_of(const Json& object) {
  std::vector<UnsafeMount> mounts;
  if (!object.contains("unsafe_mounts")) return mounts;
  for (const Json& one : object["unsafe_mounts"]) {
    const bool is_writable = text_of(one, "access") == "read-write";
    mounts.push_back(
        {text_of(one, "source"), text_of(one, "target"),
         is_writable ? UnsafeMount::Access::ReadWrite : UnsafeMount::Access::ReadOnly});
  }
  return mounts;
}

WorkspaceMode mode_of(const Json& object) {
  const std::string word = text_of(object, "workspace_mode", "auto");
  if (word == "overlay") return WorkspaceMode::Overlay;
  return word == "copy" ? WorkspaceMode::Copy : WorkspaceMode::Auto;
}

}  // namespace

std::string text_of(const Json& object, const char* key, std::string_view otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string(otherwise);
}

std::uint64_t number_of(const Json& object, const char* key, std::uint64_t otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::uint64_t>()
                                                             : otherwise;
}

bool is_true(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::vector<std::string> texts_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() ? found->get<std::vector<std::string>>()
                               : std::vector<std::string>();
}

std::map<std::string, std::string> map_of(const Json& object, const char* key) {
  std::map<std::string, std::string> map;
  if (!object.contains(key)) return map;
  for (const auto& [name, value] : object[key].items())
    map[name] = value.get<std::string>();
  return map;
}

Result<std::vector<std::string>> environment_of(const Json& object) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : map_of(object, "environment")) {
    if (name.empty() || name.find('=') != std::string::npos) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("'{}' cannot be the name of a variable", name));
    }
    environment.push_back(name + "=" + value);
  }
  return environment;
}

std::chrono::milliseconds time_of(const Json& object, const char* key,
                                  std::chrono::milliseconds otherwise) {
  return std::chrono::milliseconds(
      number_of(object, key, static_cast<std::uint64_t>(otherwise.count())));
}

Result<Limits> limits_of(const Json& object, Limits limits) {
  if (!object.contains("limits")) return limits;
  const Json& given = object["limits"];
  limits.memory_bytes = number_of(given, "memory_bytes", limits.memory_bytes);
  limits.disk_bytes = number_of(given, "disk_bytes", limits.disk_bytes);
  limits.open_files = number_of(given, "open_files", limits.open_files);
  limits.processes = static_cast<std::uint32_t>(number_of(given, "pids", limits.processes));
  limits.cpu_time = std::chrono::duration_cast<std::chrono::seconds>(
      time_of(given, "cpu_time_ms", limits.cpu_time));
  if (given.contains("cpus")) {
    const double cpus = given["cpus"].get<double>();
    if (!(cpus > 0) || cpus > 4096) {
      return failure(ErrorCode::InvalidArgument, "limits.cpus must be more than 0, at most 4096");
    }
    limits.millicpus = static_cast<std::uint32_t>(std::lround(cpus * 1000));
  }
  TRY(check_limits(limits));
  return limits;
}

Result<SandboxSpec> spec_of(const Json& object, const service::Caller& caller) {
  SandboxSpec spec;
  spec.backend = text_of(object, "backend");
  spec.image = text_of(object, "image");
  spec.runtime = text_of(object, "runtime");
  spec.limits = TRY(limits_of(object));
  spec.ttl = time_of(object, "ttl_ms", spec.ttl);
  spec.idle_timeout = time_of(object, "idle_timeout_ms", spec.idle_timeout);
  spec.environment = TRY(environment_of(object));
  spec.working_directory = text_of(object, "working_directory", spec.working_directory);
  spec.workspace = text_of(object, "workspace");
  spec.workspace_mode = mode_of(object);
  spec.unsafe_mounts = TRY(mounts_of(object));
  spec.labels = map_of(object, "labels");
  for (const std::string& word : texts_of(object, "require")) {
    for (Requirement& one : TRY(parse_requirements(word)))
      spec.requirements.push_back(std::move(one));
  }
  spec.unsafe_without = texts_of(object, "unsafe_without");
  TRY(refuse_host_files(caller, !spec.workspace.empty() || !spec.unsafe_mounts.empty() ||
                                    spec.image.starts_with('/')));
  TRY(check_spec(spec));
  return spec;
}

Result<ExecRequest> exec_of(const Json& object) {
  ExecRequest request;
  request.argv = texts_of(object, "argv");
  if (request.argv.empty() || request.argv.front().empty()) {
    return failure(ErrorCode::InvalidArgument,
                   R"(argv has no command: give it with its arguments, as in ["ls", "-l"])");
  }
  request.environment = TRY(environment_of(object));
  request.working_directory = text_of(object, "working_directory");
  if (object.contains("stdin")) request.standard_input = StandardInput::Streamed;
  request.limits.timeout = time_of(object, "timeout_ms", request.limits.timeout);
  request.limits.output_bytes =
      number_of(object, "output_limit_bytes", request.limits.output_bytes);
  request.limits.cpu_time = std::chrono::duration_cast<std::chrono::seconds>(
      time_of(object, "cpu_time_ms", request.limits.cpu_time));
  TRY(check_exec(request));
  return request;
}

Result<service::SessionRequest> session_of(const Json& object, const service::Caller& caller) {
  service::SessionRequest request;
  request.name = text_of(object, "name");
  request.spec = TRY(spec_of(object.contains("spec") ? object["spec"] : Json::object(), caller));
  if (object.contains("setup")) {
    request.setup = object["setup"].get<std::vector<std::vector<std::string>>>();
  }
  if (object.contains("budget")) {
    const Json& budget = object["budget"];
    request.budget = {number_of(budget, "execs", 0), time_of(budget, "cpu_ms", {}),
                      time_of(budget, "wall_ms", {}), number_of(budget, "output_bytes", 0)};
  }
  request.lease = time_of(object, "lease_ms", {});
  request.pause_after = time_of(object, "pause_after_ms", {});
  request.keeps_workspace = object.value("keeps_workspace", false);
  request.labels = map_of(object, "labels");
  return request;
}

Result<service::AcquireRequest> acquire_of(const Json& object, const service::Caller& caller,
                                           const Limits& of_pool) {
  service::AcquireRequest request;
  request.labels = map_of(object, "labels");
  if (object.contains("ttl_ms")) request.ttl = time_of(object, "ttl_ms", {});
  if (object.contains("idle_timeout_ms")) {
    request.idle_timeout = time_of(object, "idle_timeout_ms", {});
  }
  request.environment = TRY(environment_of(object));
  request.workspace = text_of(object, "workspace");
  request.network = text_of(object, "network");
  request.wait = time_of(object, "wait_ms", request.wait);
  if (object.contains("limits")) request.limits = TRY(limits_of(object, of_pool));
  TRY(refuse_host_files(caller, !request.workspace.empty()));
  TRY(check_environment(request.environment));
  return request;
}

Result<service::BatchRequest> batch_of(const Json& object, const service::Caller& caller) {
  constexpr std::size_t kMostItems = 10'000;
  service::BatchRequest request;
  request.spec = TRY(spec_of(object.contains("spec") ? object["spec"] : Json::object(), caller));
  request.parallel = number_of(object, "parallel", request.parallel);
  request.output_bytes = number_of(object, "output_bytes", request.output_bytes);
  if (object["items"].size() > kMostItems) {
    return failure(ErrorCode::InvalidArgument, fmt::format("more than {} items", kMostItems));
  }
  for (const Json& one : object["items"]) {
    service::BatchItem item;
    item.request = TRY(exec_of(one));
    for (const auto& [path, content] : map_of(one, "files"))
      item.files.emplace_back(path, content);
    request.items.push_back(std::move(item));
  }
  return request;
}

}  // namespace nutshell::server
