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

Json to_json(const service::SandboxView& view) {
  Json object = to_json(
      SandboxStatus{view.id, view.spec, view.state, view.age, view.time_left, {}, view.why_copied});
  object["idle_ms"] = view.idle.count();
  object["unsafe_without"] = view.spec.unsafe_without;
  object["working_directory"] = view.spec.working_directory;
  if (!view.why_copied.empty()) object["why_copied"] = view.why_copied;
  if (!view.began.empty()) object["workspace_began_ns"] = view.began;
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
          {"keeps_workspace", view.keeps_workspace},
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
  return {{"name", status.name},
          {"total", status.total},
          {"available", status.available},
          {"in_use", status.in_use},
          {"waiting", status.waiting},
          {"min_idle", status.min_idle},
          {"max_idle", status.max_idle},
          {"max_total", status.max_total},
          {"hits", status.hits},
          {"misses", status.misses},
          {"trouble", text_or_null(status.trouble)}};
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
          {"error_sha256", entry.error_sha256},
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

void add_verdict(Json& object, const TrustVerdict& verdict) {
  if (held_by(verdict).empty()) return;
  object["held_by"] = held_by(verdict);
  object["held_tool"] = verdict.tool;
  object["held_why"] = sentence_of(verdict);
}

Json to_json(const JudgedChange& one) {
  Json object = to_json(one.change);
  if (is_newly_executable(one.change)) object["newly_executable"] = true;
  add_verdict(object, one.verdict);
  return object;
}

Json to_json(const service::Trace& trace) {
  Json files = Json::array();
  for (const wire::FileChange& change : trace.files)
    files.push_back(to_json(change));
  Json object = {{"files", files}, {"files_truncated", trace.is_cut}, {"blocked", trace.blocked}};
  if (trace.level != service::TraceLevel::Full) return object;
  object["stdin_sha256"] = trace.input_sha256;
  object["stdout_sha256"] = trace.output_sha256;
  object["stderr_sha256"] = trace.error_sha256;
  object["protections"] = to_json(trace.protections);
  return object;
}

Json to_json(const ExecResult& result, std::string_view output, std::string_view error) {
  return to_json(result, [&](Json& object) {
    set_text(object, "stdout", output);
    set_text(object, "stderr", error);
  });
}

Json to_json(const service::BatchResult& result, std::size_t index) {
  Json item;
  if (result.result) {
    item = to_json(*result.result, result.output, result.error);
    item["audit_id"] = result.audit_id;
  } else {
    const Error& error = result.result.error();
    item = {{"error", {{"code", to_string(error.code)}, {"detail", error.message}}}};
  }
  item["index"] = index;
  return item;
}

}  // namespace nutshell::server
