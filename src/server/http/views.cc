#include "server/http/views.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace nutshell::server {
namespace {

std::int64_t since_1970(std::chrono::system_clock::time_point when) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch()).count();
}

double milliseconds(std::chrono::microseconds duration) {
  return static_cast<double>(duration.count()) / 1000.0;
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json to_json(const Limits& limits) {
  return {{"memory_bytes", limits.memory_bytes},
          {"cpus", limits.millicpus / 1000.0},
          {"pids", limits.processes},
          {"disk_bytes", limits.disk_bytes},
          {"open_files", limits.open_files},
          {"cpu_time_ms", limits.cpu_time.count() * 1000}};
}

Json mounts_of(const SandboxSpec& spec) {
  Json list = Json::array();
  for (const UnsafeMount& mount : spec.unsafe_mounts) {
    const bool is_writable = mount.access == UnsafeMount::Access::ReadWrite;
    list.push_back({{"source", mount.source},
                    {"target", mount.target},
                    {"access", is_writable ? "read-write" : "read-only"}});
  }
  return list;
}

Json workspace_mode_of(const service::SandboxView& view) {
  if (view.spec.workspace.empty()) return nullptr;
  return view.why_copied.empty() ? "overlay" : "copy";
}

const char* word_for(wire::FileKind kind) {
  switch (kind) {
    case wire::FileKind::Regular:
      return "file";
    case wire::FileKind::Directory:
      return "directory";
    case wire::FileKind::Link:
      return "link";
    case wire::FileKind::Other:
      return "other";
  }
  return "other";
}

const char* word_for(wire::ChangeKind kind) {
  switch (kind) {
    case wire::ChangeKind::Added:
      return "added";
    case wire::ChangeKind::Modified:
      return "modified";
    case wire::ChangeKind::Removed:
      return "removed";
  }
  return "modified";
}

}  // namespace

Json to_json(const Protections& protections) {
  Json list = Json::array();
  for (const Protection& protection : protections) {
    list.push_back({{"name", protection.name},
                    {"strength", to_string(protection.strength)},
                    {"by", protection.by},
                    {"fix", protection.fix}});
  }
  return list;
}

Json to_json(const service::SandboxView& view) {
  const SandboxSpec& spec = view.spec;
  Json object = {{"id", view.id},
                 {"backend", spec.backend},
                 {"state", view.state == SandboxState::Paused ? "paused" : "running"},
                 {"image", spec.image},
                 {"workspace", spec.workspace},
                 {"workspace_mode", workspace_mode_of(view)},
                 {"unsafe_mounts", mounts_of(spec)},
                 {"age_ms", view.age.count()},
                 {"ttl_ms", spec.ttl.count()},
                 {"ttl_left_ms", view.time_left.count()},
                 {"idle_timeout_ms", spec.idle_timeout.count()},
                 {"idle_ms", view.idle.count()},
                 {"labels", spec.labels},
                 {"limits", to_json(spec.limits)}};
  if (!view.session.empty()) object["session"] = view.session;
  if (!view.pool.empty()) object["pool"] = view.pool;
  if (!view.protections.empty()) object["protections"] = to_json(view.protections);
  if (view.audit_id != 0) object["audit_id"] = view.audit_id;
  return object;
}

Json to_json(const service::SessionView& view) {
  Json setup = Json::array();
  for (const service::SetupOutput& one : view.setup) {
    Json entry = {{"argv", one.argv}, {"exit_code", one.exit_code}, {"outcome", one.outcome}};
    set_text(entry, "output", one.output);
    setup.push_back(std::move(entry));
  }
  return {{"name", view.name},
          {"sandbox_id", view.sandbox_id},
          {"life", view.life},
          {"lost", text_or_null(view.lost)},
          {"was_created", view.was_created},
          {"setup", setup},
          {"budget",
           {{"execs", view.budget.execs},
            {"cpu_ms", view.budget.cpu_time.count()},
            {"wall_ms", view.budget.wall_time.count()},
            {"output_bytes", view.budget.output_bytes}}},
          {"usage",
           {{"execs", view.usage.execs},
            {"cpu_ms", milliseconds(view.usage.cpu_time)},
            {"wall_ms", milliseconds(view.usage.wall_time)},
            {"output_bytes", view.usage.output_bytes}}},
          {"lease_left_ms", view.lease_left.count()},
          {"labels", view.labels},
          {"created_ms", since_1970(view.created)}};
}

Json to_json(const service::PoolStatus& status) {
  return {{"name", status.name},           {"total", status.total},
          {"available", status.available}, {"in_use", status.in_use},
          {"min_idle", status.min_idle},   {"max_idle", status.max_idle},
          {"max_total", status.max_total}, {"hits", status.hits},
          {"misses", status.misses},       {"trouble", text_or_null(status.trouble)}};
}

Json to_json(const service::ExecState& state) {
  Json object = {{"exec_id", state.exec_id},
                 {"sandbox_id", state.sandbox_id},
                 {"state", state.ending ? "ended" : "running"},
                 {"stdout_bytes", state.output_bytes},
                 {"stderr_bytes", state.error_bytes},
                 {"result", nullptr}};
  if (state.ending) {
    object["result"] = to_json(*state.ending);
    object["result"]["audit_id"] = state.audit_id;
  }
  return object;
}

Json to_json(const service::HistoryEntry& entry) {
  return {{"audit_id", entry.audit_id},
          {"time_ms", since_1970(entry.when)},
          {"who", entry.who},
          {"action", entry.action},
          {"what", entry.what},
          {"outcome", entry.outcome},
          {"duration_ms", entry.duration.count()},
          {"output_bytes", entry.output_bytes}};
}

Json to_json(const audit::Record& record) {
  const audit::Entry& entry = record.entry;
  auto arguments = Json::parse(entry.arguments, nullptr, false);
  return {{"id", record.id},
          {"time_us", record.time_us},
          {"tenant", entry.tenant},
          {"who", entry.who},
          {"action", entry.action},
          {"sandbox", entry.sandbox},
          {"session", entry.session},
          {"outcome", entry.outcome},
          {"of", entry.of},
          {"arguments", arguments.is_discarded() ? Json(nullptr) : arguments},
          {"input_sha256", entry.input_sha256},
          {"output_sha256", entry.output_sha256},
          {"output_bytes", entry.output_bytes},
          {"duration_ms", milliseconds(entry.duration)},
          {"detail", entry.detail},
          {"previous", record.previous},
          {"hash", record.hash}};
}

Json to_json(const wire::FileInfo& info) {
  Json object = {{"path", info.path},
                 {"kind", word_for(info.kind)},
                 {"mode", fmt::format("{:04o}", info.mode & 07777U)},
                 {"size", info.size},
                 {"modified_ns", info.modified_ns}};
  if (!info.target.empty()) object["target"] = info.target;
  return object;
}

Json to_json(const wire::FileChange& change) {
  return {{"path", change.path},
          {"kind", word_for(change.kind)},
          {"size_before", change.before.size},
          {"size_after", change.after.size}};
}

Json to_json(const service::Trace& trace) {
  Json files = Json::array();
  for (const wire::FileChange& change : trace.files)
    files.push_back(to_json(change));
  return {{"files", files}, {"files_truncated", trace.is_cut}, {"blocked", trace.blocked}};
}

Json to_json(const ExecResult& result) {
  Json object;
  object["outcome"] = to_string(result.outcome);
  object["exit_code"] = nullptr;
  object["signal"] = nullptr;
  if (result.outcome == Outcome::Exited) object["exit_code"] = result.exit_code;
  if (result.outcome == Outcome::Signalled) object["signal"] = result.signal;
  object["duration_ms"] = milliseconds(result.duration);
  object["cpu_ms"] = milliseconds(result.cpu_time);
  object["peak_memory_bytes"] = result.peak_memory_bytes;
  object["stdout_truncated"] = result.stdout_truncated;
  object["stderr_truncated"] = result.stderr_truncated;
  if (!result.detail.empty()) object["detail"] = result.detail;
  return object;
}

Json to_json(const ExecResult& result, std::string_view output, std::string_view error) {
  Json object = to_json(result);
  set_text(object, "stdout", output);
  set_text(object, "stderr", error);
  return object;
}

}  // namespace nutshell::server
