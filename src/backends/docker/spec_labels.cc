#include "backends/docker/spec_labels.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "backends/docker/engine_json.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/user_directory.h"

namespace nutshell::docker {
namespace {

constexpr const char* kSpecLabel = "nutshell.spec";
constexpr const char* kExpiresLabel = "nutshell.expires";

Json json_of(const Limits& limits) {
  return {{"memory_bytes", limits.memory_bytes}, {"millicpus", limits.millicpus},
          {"processes", limits.processes},       {"disk_bytes", limits.disk_bytes},
          {"open_files", limits.open_files},     {"cpu_seconds", limits.cpu_time.count()}};
}

Json json_of(const SandboxSpec& spec) {
  Json mounts = Json::array();
  for (const UnsafeMount& mount : spec.unsafe_mounts) {
    mounts.push_back({{"source", mount.source},
                      {"target", mount.target},
                      {"is_writable", mount.access == UnsafeMount::Access::ReadWrite}});
  }
  return {{"image", spec.image},
          {"runtime", spec.runtime},
          {"limits", json_of(spec.limits)},
          {"ttl_ms", spec.ttl.count()},
          {"idle_ms", spec.idle_timeout.count()},
          {"working_directory", spec.working_directory},
          {"workspace", spec.workspace},
          {"workspace_mode", static_cast<int>(spec.workspace_mode)},
          {"unsafe_mounts", mounts},
          {"labels", spec.labels},
          {"unsafe_without", spec.unsafe_without}};
}

template <typename Number>
void read_number(const Json& object, const char* name, Number& into) {
  const Json* found = member(object, name);
  if (found != nullptr && found->is_number_integer()) into = found->get<Number>();
}

Limits limits_of(const Json& object) {
  Limits limits;
  read_number(object, "memory_bytes", limits.memory_bytes);
  read_number(object, "millicpus", limits.millicpus);
  read_number(object, "processes", limits.processes);
  read_number(object, "disk_bytes", limits.disk_bytes);
  read_number(object, "open_files", limits.open_files);
  limits.cpu_time = std::chrono::seconds(number_of(object, "cpu_seconds"));
  return limits;
}

std::vector<UnsafeMount> mounts_of(const Json& list) {
  using enum UnsafeMount::Access;
  std::vector<UnsafeMount> mounts;
  for (const Json& one : list) {
    mounts.push_back({text_of(one, "source"), text_of(one, "target"),
                      is_true(one, "is_writable") ? ReadWrite : ReadOnly});
  }
  return mounts;
}

SandboxSpec spec_of(const Json& object) {
  SandboxSpec spec;
  spec.image = text_of(object, "image");
  spec.runtime = text_of(object, "runtime");
  if (const Json* limits = member(object, "limits")) spec.limits = limits_of(*limits);
  spec.ttl = std::chrono::milliseconds(number_of(object, "ttl_ms"));
  spec.idle_timeout = std::chrono::milliseconds(number_of(object, "idle_ms"));
  spec.working_directory = text_of(object, "working_directory");
  spec.workspace = text_of(object, "workspace");
  spec.workspace_mode = static_cast<WorkspaceMode>(number_of(object, "workspace_mode"));
  if (const Json* mounts = member(object, "unsafe_mounts")) spec.unsafe_mounts = mounts_of(*mounts);
  spec.labels = texts_by_name(object, "labels");
  spec.unsafe_without = texts_of(object, "unsafe_without");
  return spec;
}

std::string find_label(const Labels& labels, const char* name) {
  const auto found = labels.find(name);
  return found == labels.end() ? std::string() : found->second;
}

}  // namespace

std::chrono::milliseconds milliseconds_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

Labels to_labels(const Remembered& remembered) {
  return {
      {kIdLabel, remembered.id},
      {kScopeLabel, remembered.scope},
      {kExpiresLabel, std::to_string(remembered.expires_at.count())},
      {kSpecLabel, json_of(remembered.spec).dump(-1, ' ', false, Json::error_handler_t::replace)}};
}

Result<Remembered> from_labels(const Labels& labels) {
  Remembered remembered;
  remembered.id = find_label(labels, kIdLabel);
  remembered.scope = find_label(labels, kScopeLabel);
  const auto spec = parse_json(find_label(labels, kSpecLabel));
  const std::string expires = find_label(labels, kExpiresLabel);
  std::int64_t moment = 0;
  std::from_chars(expires.data(), expires.data() + expires.size(), moment);
  if (remembered.id.empty() || !spec || !spec->is_object() || moment <= 0)
    return failure(ErrorCode::NotFound, "the container is none of ours");
  remembered.spec = spec_of(*spec);
  remembered.expires_at = std::chrono::milliseconds(moment);
  return remembered;
}

Result<std::string> scope_of_this_user() {
  constexpr std::size_t kScopeLength = 16;
  const std::string directory = TRY(open_user_directory()).native();
  const auto machine = read_file("/etc/machine-id", 4096);
  return sha256_hex(machine.value_or("") + directory).substr(0, kScopeLength);
}

}  // namespace nutshell::docker
