#include "server/http/views.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "wire/kind_names.h"

namespace nutshell::server {
namespace {

std::int64_t since_1970(std::chrono::system_clock::time_point when) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch()).count();
}

}  // namespace

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

Json to_json(const wire::FileInfo& info) {
  Json object = {{"path", info.path},
                 {"kind", to_string(info.kind)},
                 {"mode", fmt::format("{:04o}", info.mode & 07777U)},
                 {"size", info.size},
                 {"modified_ns", info.modified_ns}};
  if (!info.target.empty()) object["target"] = info.target;
  return object;
}

Json to_json(const wire::FileChange& change) {
  return {{"path", change.path},
          {"kind", to_string(change.kind)},
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
  Json object = to_json(result);
  set_text(object, "stdout", output);
  set_text(object, "stderr", error);
  return object;
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
