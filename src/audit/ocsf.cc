#include "audit/ocsf.h"

#include <nlohmann/json.hpp>

#include "core/json_text.h"

namespace nutshell::audit {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kProcessActivity = 1007;
constexpr int kApiActivity = 6003;

// Activity ids: Create, Read, Update, Delete, Other of API Activity; Launch of Process Activity.
int activity_of(const Entry& entry) {
  if (entry.is_command()) return 1;
  if (entry.action == "create" || entry.action == "acquire" || entry.action == "fork") return 1;
  if (entry.action.starts_with("read")) return 2;
  if (entry.action == "destroy" || entry.action == "release") return 4;
  if (entry.action == "pause" || entry.action == "resume" || entry.action == "extend") return 3;
  return 99;
}

// 0 unknown, 1 success, 2 failure.
int status_of(const Entry& entry) {
  if (entry.outcome == "ok" || entry.outcome == "exited 0") return 1;
  if (entry.outcome == "begun" || entry.outcome.empty()) return 0;
  return 2;
}

std::string command_line_of(const Json& arguments) {
  std::string line;
  if (!arguments.contains("argv") || !arguments.at("argv").is_array()) return line;
  for (const auto& word : arguments.at("argv")) {
    if (!line.empty()) line += ' ';
    line += word.is_string() ? word.get<std::string>() : word.dump();
  }
  return line;
}

Json unmapped_of(const Record& record) {
  const Entry& entry = record.entry;
  Json more;
  more["prev"] = record.previous;
  more["hash"] = record.hash;
  if (!entry.session.empty()) more["session"] = entry.session;
  if (entry.of != 0) more["of"] = entry.of;
  if (!entry.input_sha256.empty()) more["input_sha256"] = entry.input_sha256;
  if (!entry.output_sha256.empty()) more["output_sha256"] = entry.output_sha256;
  if (!entry.error_sha256.empty()) more["error_sha256"] = entry.error_sha256;
  if (entry.output_bytes != 0) more["output_bytes"] = entry.output_bytes;
  return more;
}

}  // namespace

std::string to_ocsf(const Record& record) {
  const Entry& entry = record.entry;
  const Json arguments =
      entry.arguments.empty() ? Json::object() : Json::parse(entry.arguments, nullptr, false);
  const int class_uid = entry.is_command() ? kProcessActivity : kApiActivity;
  const int activity = activity_of(entry);
  Json event;
  event["class_uid"] = class_uid;
  event["category_uid"] = class_uid / 1000;
  event["activity_id"] = activity;
  event["type_uid"] = class_uid * 100 + activity;
  event["time"] = record.time_us / 1000;
  event["severity_id"] = 1;
  event["status_id"] = status_of(entry);
  event["status_detail"] = entry.outcome;
  if (entry.duration.count() != 0) event["duration"] = entry.duration.count() / 1000;
  if (!entry.detail.empty()) event["message"] = entry.detail;
  event["metadata"] = {{"version", "1.3.0"},
                       {"uid", std::to_string(record.id)},
                       {"product", {{"name", "nutshell"}, {"vendor_name", "nutshell"}}}};
  event["actor"] = {{"user", {{"name", entry.who}, {"org", {{"name", entry.tenant}}}}}};
  if (entry.is_command()) {
    event["process"] = {{"cmd_line", command_line_of(arguments)}};
    event["device"] = {{"uid", entry.sandbox}, {"type_id", 6}};
  } else {
    event["api"] = {{"operation", entry.action}, {"request", {{"data", arguments}}}};
    if (!entry.sandbox.empty())
      event["resources"] = Json::array({{{"uid", entry.sandbox}, {"type", "sandbox"}}});
  }
  event["unmapped"] = unmapped_of(record);
  return dump_json(event);
}

std::string to_json(const Record& record) {
  const Entry& entry = record.entry;
  Json object;
  object["id"] = record.id;
  object["time_us"] = record.time_us;
  object["tenant"] = entry.tenant;
  object["who"] = entry.who;
  object["action"] = entry.action;
  if (!entry.sandbox.empty()) object["sandbox"] = entry.sandbox;
  if (!entry.session.empty()) object["session"] = entry.session;
  object["outcome"] = entry.outcome;
  if (entry.of != 0) object["of"] = entry.of;
  if (!entry.arguments.empty()) object["arguments"] = Json::parse(entry.arguments, nullptr, false);
  if (!entry.input_sha256.empty()) object["input_sha256"] = entry.input_sha256;
  if (!entry.output_sha256.empty()) object["output_sha256"] = entry.output_sha256;
  if (!entry.error_sha256.empty()) object["error_sha256"] = entry.error_sha256;
  if (entry.output_bytes != 0) object["output_bytes"] = entry.output_bytes;
  if (entry.duration.count() != 0) object["duration_us"] = entry.duration.count();
  if (!entry.detail.empty()) object["detail"] = entry.detail;
  object["hash"] = record.hash;
  return dump_json(object);
}

}  // namespace nutshell::audit
