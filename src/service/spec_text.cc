#include "service/spec_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/sha256.h"

namespace nutshell::service {
namespace {

using Json = nlohmann::json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename T, typename Build>
Result<T> decode(const std::string& text, Build build) {
  try {
    return build(Json::parse(text));
  } catch (const Json::exception& problem) {
    return failure(ErrorCode::Corrupt, std::string("state file: ") + problem.what());
  }
}

template <typename Duration>
Duration duration_at(const Json& json, const char* name) {
  return Duration(json.at(name).get<std::int64_t>());
}

Json pack(const Limits& limits) {
  return {{"memory_bytes", limits.memory_bytes}, {"millicpus", limits.millicpus},
          {"processes", limits.processes},       {"disk_bytes", limits.disk_bytes},
          {"open_files", limits.open_files},     {"cpu_s", limits.cpu_time.count()}};
}

Limits unpack_limits(const Json& json) {
  Limits limits;
  limits.memory_bytes = json.at("memory_bytes").get<std::uint64_t>();
  limits.millicpus = json.at("millicpus").get<std::uint32_t>();
  limits.processes = json.at("processes").get<std::uint32_t>();
  limits.disk_bytes = json.at("disk_bytes").get<std::uint64_t>();
  limits.open_files = json.at("open_files").get<std::uint64_t>();
  limits.cpu_time = duration_at<std::chrono::seconds>(json, "cpu_s");
  return limits;
}

Json pack(const SandboxSpec& spec) {
  Json json = {{"backend", spec.backend},
               {"image", spec.image},
               {"runtime", spec.runtime},
               {"limits", pack(spec.limits)},
               {"ttl_ms", spec.ttl.count()},
               {"idle_ms", spec.idle_timeout.count()},
               {"environment", spec.environment},
               {"working_directory", spec.working_directory},
               {"workspace", spec.workspace},
               {"workspace_mode", static_cast<int>(spec.workspace_mode)},
               {"labels", spec.labels},
               {"without", spec.unsafe_without},
               {"image_naming", static_cast<int>(spec.image_naming)}};
  json["mounts"] = Json::array();
  for (const UnsafeMount& mount : spec.unsafe_mounts)
    json["mounts"].push_back({mount.source, mount.target, static_cast<int>(mount.access)});
  json["requirements"] = Json::array();
  for (const Requirement& requirement : spec.requirements)
    json["requirements"].push_back({requirement.protection, requirement.is_hard});
  return json;
}

SandboxSpec unpack_spec(const Json& json) {
  SandboxSpec spec;
  spec.backend = json.at("backend").get<std::string>();
  spec.image = json.at("image").get<std::string>();
  spec.runtime = json.value("runtime", "");  // states of earlier versions have none
  spec.image_naming =                        // states of earlier versions have none
      json.value("image_naming", 0) == 1 ? ImageNaming::NameOnly : ImageNaming::NameOrPath;
  spec.limits = unpack_limits(json.at("limits"));
  spec.ttl = duration_at<std::chrono::milliseconds>(json, "ttl_ms");
  spec.idle_timeout = duration_at<std::chrono::milliseconds>(json, "idle_ms");
  spec.environment = json.at("environment").get<std::vector<std::string>>();
  spec.working_directory = json.at("working_directory").get<std::string>();
  spec.workspace = json.at("workspace").get<std::string>();
  const int mode = std::clamp(json.at("workspace_mode").get<int>(), 0, 2);
  spec.workspace_mode = static_cast<WorkspaceMode>(mode);
  spec.labels = json.at("labels").get<std::map<std::string, std::string>>();
  spec.unsafe_without = json.at("without").get<std::vector<std::string>>();
  for (const Json& mount : json.at("mounts")) {
    const bool is_writable = mount.at(2).get<int>() == 1;
    spec.unsafe_mounts.push_back(
        {mount.at(0).get<std::string>(), mount.at(1).get<std::string>(),
         is_writable ? UnsafeMount::Access::ReadWrite : UnsafeMount::Access::ReadOnly});
  }
  for (const Json& requirement : json.at("requirements"))
    spec.requirements.push_back(
        {requirement.at(0).get<std::string>(), requirement.at(1).get<bool>()});
  return spec;
}

}  // namespace

std::string encode_labels(const std::map<std::string, std::string>& labels) {
  return dump(Json(labels));
}

Result<std::map<std::string, std::string>> decode_labels(const std::string& text) {
  using Labels = std::map<std::string, std::string>;
  return decode<Labels>(text, [](const Json& json) { return json.get<Labels>(); });
}

std::string encode_spec(const SandboxSpec& spec) {
  return dump(pack(spec));
}

std::string encode_exec(const ExecRequest& request) {
  return dump({{"argv", request.argv},
               {"environment", request.environment},
               {"working_directory", request.working_directory},
               {"terminal", static_cast<int>(request.terminal)},
               {"limits", encode_limits(request.limits)}});
}

std::string hash_of_spec(const SandboxSpec& spec) {
  return sha256_hex(encode_spec(spec));
}

std::string encode_session(const SessionRequest& request) {
  return dump({{"name", request.name},
               {"spec", pack(request.spec)},
               {"setup", request.setup},
               {"execs", request.budget.execs},
               {"cpu_ms", request.budget.cpu_time.count()},
               {"wall_ms", request.budget.wall_time.count()},
               {"output_bytes", request.budget.output_bytes},
               {"lease_ms", request.lease.count()},
               {"pause_after_ms", request.pause_after.count()},
               {"keeps_workspace", request.keeps_workspace},
               {"labels", request.labels}});
}

Result<SessionRequest> decode_session(const std::string& text) {
  return decode<SessionRequest>(text, [](const Json& json) {
    using std::chrono::milliseconds;
    SessionRequest request;
    request.name = json.at("name").get<std::string>();
    request.spec = unpack_spec(json.at("spec"));
    request.setup = json.at("setup").get<std::vector<std::vector<std::string>>>();
    request.budget.execs = json.at("execs").get<std::uint64_t>();
    request.budget.cpu_time = duration_at<milliseconds>(json, "cpu_ms");
    request.budget.wall_time = duration_at<milliseconds>(json, "wall_ms");
    request.budget.output_bytes = json.at("output_bytes").get<std::uint64_t>();
    request.lease = duration_at<milliseconds>(json, "lease_ms");
    request.pause_after = duration_at<milliseconds>(json, "pause_after_ms");
    request.keeps_workspace = json.value("keeps_workspace", false);
    request.labels = json.at("labels").get<std::map<std::string, std::string>>();
    return request;
  });
}

std::string encode_setup(const std::vector<SetupOutput>& outputs) {
  Json json = Json::array();
  for (const SetupOutput& output : outputs)
    json.push_back({{"argv", output.argv},
                    {"exit_code", output.exit_code},
                    {"outcome", output.outcome},
                    {"output", output.output}});
  return dump(json);
}

Result<std::vector<SetupOutput>> decode_setup(const std::string& text) {
  return decode<std::vector<SetupOutput>>(text, [](const Json& json) {
    std::vector<SetupOutput> outputs;
    for (const Json& item : json)
      outputs.push_back({item.at("argv").get<std::vector<std::string>>(),
                         item.at("exit_code").get<int>(), item.at("outcome").get<std::string>(),
                         item.at("output").get<std::string>()});
    return outputs;
  });
}

std::string encode_result(const ExecResult& result) {
  return dump({{"outcome", static_cast<int>(result.outcome)},
               {"exit_code", result.exit_code},
               {"signal", result.signal},
               {"detail", result.detail},
               {"duration_us", result.duration.count()},
               {"cpu_us", result.cpu_time.count()},
               {"peak_memory_bytes", result.peak_memory_bytes},
               {"stdout_bytes", result.stdout_bytes},
               {"stderr_bytes", result.stderr_bytes},
               {"stdout_truncated", result.stdout_truncated},
               {"stderr_truncated", result.stderr_truncated}});
}

Result<ExecResult> decode_result(const std::string& text) {
  return decode<ExecResult>(text, [](const Json& json) {
    ExecResult result;
    const int most = static_cast<int>(Outcome::Lost);
    result.outcome = static_cast<Outcome>(std::clamp(json.at("outcome").get<int>(), 0, most));
    result.exit_code = json.at("exit_code").get<int>();
    result.signal = json.at("signal").get<int>();
    result.detail = json.at("detail").get<std::string>();
    result.duration = duration_at<std::chrono::microseconds>(json, "duration_us");
    result.cpu_time = duration_at<std::chrono::microseconds>(json, "cpu_us");
    result.peak_memory_bytes = json.at("peak_memory_bytes").get<std::uint64_t>();
    result.stdout_bytes = json.at("stdout_bytes").get<std::uint64_t>();
    result.stderr_bytes = json.at("stderr_bytes").get<std::uint64_t>();
    result.stdout_truncated = json.at("stdout_truncated").get<bool>();
    result.stderr_truncated = json.at("stderr_truncated").get<bool>();
    return result;
  });
}

std::string encode_limits(const ExecLimits& limits) {
  return dump({{"timeout_ms", limits.timeout.count()},
               {"output_bytes", limits.output_bytes},
               {"cpu_s", limits.cpu_time.count()}});
}

Result<ExecLimits> decode_limits(const std::string& text) {
  return decode<ExecLimits>(text, [](const Json& json) {
    ExecLimits limits;
    limits.timeout = duration_at<std::chrono::milliseconds>(json, "timeout_ms");
    limits.output_bytes = json.at("output_bytes").get<std::uint64_t>();
    limits.cpu_time = duration_at<std::chrono::seconds>(json, "cpu_s");
    return limits;
  });
}

}  // namespace nutshell::service
