// The resources that clients read without a tool: outputs, files, the audit record and facts about
// the sandbox; and the completion of their paths.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "core/json_text.h"
#include "server/mcp/sandbox/sandbox_host.h"
#include "tools/visible_text.h"

namespace nutshell::mcp {
namespace {

constexpr std::string_view kOutput = "nutshell://output/";
constexpr std::string_view kFile = "nutshell://file/";
constexpr std::string_view kSandbox = "nutshell://sandbox";
constexpr std::string_view kAudit = "nutshell://audit";
constexpr std::size_t kMostBytes = 16U << 20U;
constexpr std::size_t kMostCompletions = 100;  // the protocol's bound
constexpr std::size_t kMostListed = 2000;
constexpr std::size_t kMostDiff = 400'000;
constexpr std::size_t kMostRecords = 1000;

constexpr const char* kTemplates =
    R"({"resourceTemplates":[)"
    R"({"uriTemplate":"nutshell://output/{id}","name":"output","title":"Whole output",)"
    R"("description":"Everything a command printed, by an id like o7f3a.","mimeType":"text/plain"},)"
    R"({"uriTemplate":"nutshell://file/{+path}","name":"file","title":"File",)"
    R"("description":"A file of the workspace, by its path."}]})";
constexpr const char* kSandboxResource =
    R"({"uri":"nutshell://sandbox","name":"sandbox","title":"This sandbox",)"
    R"("description":"Its id, its project and how long it has left.",)"
    R"("mimeType":"application/json"})";
constexpr const char* kAuditResource =
    R"(,{"uri":"nutshell://audit","name":"audit","title":"What was done in this sandbox",)"
    R"("description":"The record of commands and tool calls, an object on each line.",)"
    R"("mimeType":"application/x-ndjson"})";
constexpr const char* kPrompts =
    R"({"prompts":[{"name":"review","title":"Review the work in the sandbox",)"
    R"("description":"Look over what was changed in the sandbox before it is applied.",)"
    R"("arguments":[{"name":"focus","description":"What to look at above all","required":false}]}]})";

Problem unreadable(const std::string& uri, const Error& error) {
  Problem problem = problem_of(error);
  problem.message.insert(
      0, problem.code == kResourceNotFound ? "Resource not found: " : "Resource cannot be read: ");
  problem.data = fmt::format(R"({{"uri":{},"code":"{}"}})", json_string(uri.substr(0, 2000)),
                             to_string(error.code));
  return problem;
}

bool is_text(const std::string& bytes) {
  return bytes.find('\0') == std::string::npos && model_text(bytes) == bytes;
}

Reply contents(const std::string& uri, const std::string& bytes) {
  const std::string head = fmt::format(R"({{"contents":[{{"uri":{})", json_string(uri));
  if (is_text(bytes))
    return Answer{head + R"(,"mimeType":"text/plain","text":)" + json_string(bytes) + "}]}"};
  return Answer{head + R"(,"mimeType":"application/octet-stream","blob":")" + to_base64(bytes) +
                "\"}]}"};
}

}  // namespace

std::string SandboxHost::list(Listing listing, const Client& /*client*/) {
  switch (listing) {
    case Listing::Tools:
      return tools_;
    case Listing::Prompts:
      return kPrompts;
    case Listing::Resources:
      return fmt::format(R"({{"resources":[{}{}]}})", kSandboxResource,
                         sandboxes_.has_record() ? kAuditResource : "");
    case Listing::ResourceTemplates:
      return kTemplates;
  }
  return "{}";
}

std::string SandboxHost::describe_sandbox(const Client& client) {
  nlohmann::ordered_json about = {{"id", nullptr}, {"project", binding_.workspace()}};
  const auto id = binding_.find(client);
  const auto status = id ? binding_.own(client, *id) : Result<SandboxStatus>(Failure(id.error()));
  if (status) {
    about["id"] = status->id;
    about["seconds_left"] = status->time_left.count() / 1000;
    about["diff"] = "nutshell diff " + status->id;
    about["apply"] = "nutshell apply " + status->id;
  }
  return dump_json(about);
}

Reply SandboxHost::read_resource(Call& call, const std::string& uri) {
  if (uri == kSandbox) {
    return Answer{
        fmt::format(R"({{"contents":[{{"uri":"{}","mimeType":"application/json","text":{}}}]}})",
                    kSandbox, json_string(describe_sandbox(call.client())))};
  }
  const bool is_output = uri.starts_with(kOutput);
  const bool is_audit = uri == kAudit && sandboxes_.has_record();
  if (!is_output && !is_audit && !uri.starts_with(kFile))
    return unreadable(uri, {ErrorCode::NotFound, "no resource has this URI"});
  const auto id = binding_.find(call.client());
  if (!id) return unreadable(uri, id.error());
  const Sandboxes::Place place{call.client().owner, *id};
  if (is_audit) {
    const auto record = sandboxes_.record(place, kMostRecords);
    if (!record) return unreadable(uri, record.error());
    return Answer{fmt::format(
        R"({{"contents":[{{"uri":"{}","mimeType":"application/x-ndjson","text":{}}}]}})", kAudit,
        json_string(*record))};
  }
  if (is_output) {
    const auto output = sandboxes_.output(place, uri.substr(kOutput.size()));
    if (!output) return unreadable(uri, output.error());
    return contents(uri, whole_text(output->output) + whole_text(output->error));
  }
  const auto bytes = sandboxes_.read_file(place, uri.substr(kFile.size()), kMostBytes);
  if (!bytes) return unreadable(uri, bytes.error());
  return contents(uri, *bytes);
}

Reply SandboxHost::complete(Call& call, const Json& params) {
  const Json& argument = params["argument"];
  const bool is_path = params["ref"].value("type", Json()) == "ref/resource" &&
                       argument.value("name", Json()) == "path" && argument.contains("value") &&
                       argument["value"].is_string();
  Json values = Json::array();
  const auto id = binding_.find(call.client());
  if (is_path && id) {
    const std::string typed = argument["value"];
    const std::size_t slash = typed.rfind('/');
    const std::string directory = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
    const auto names = sandboxes_.names({call.client().owner, *id}, directory, kMostListed);
    for (const std::string& name : names ? *names : std::vector<std::string>())
      if (values.size() < kMostCompletions && (directory + name).starts_with(typed))
        values.push_back(model_text(directory + name));
  }
  return Answer{
      fmt::format(R"({{"completion":{{"values":{},"hasMore":false}}}})", dump_json(values))};
}

Reply SandboxHost::get_prompt(Call& call, const std::string& name, const Json& arguments) {
  if (name != "review")
    return Problem{kInvalidParams, fmt::format("Unknown prompt: {}", name.substr(0, 128))};
  const auto id = binding_.find(call.client());
  const auto diff = id ? sandboxes_.diff({call.client().owner, *id}, kMostDiff)
                       : Result<std::string>(std::string());
  if (!diff) return problem_of(diff.error());
  const auto focus = arguments.find("focus");
  std::string text =
      diff->empty() ? "Nothing was changed in the sandbox yet."
                    : "Review this change before it is applied to the project. Name what is wrong, "
                      "with file and line, worst first; then say whether to apply it.";
  if (focus != arguments.end() && focus->is_string())
    text += "\nAbove all: " + focus->get<std::string>();
  if (!diff->empty()) text += "\n\n" + model_text(*diff);
  return Answer{
      fmt::format(R"({{"description":"Review the work in the sandbox",)"
                  R"("messages":[{{"role":"user","content":{{"type":"text","text":{}}}}}]}})",
                  json_string(text))};
}

}  // namespace nutshell::mcp
