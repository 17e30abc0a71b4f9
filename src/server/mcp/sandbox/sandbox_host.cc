#include "server/mcp/sandbox/sandbox_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/safe_text.h"
#include "core/json_text.h"
#include "server/mcp/sandbox/client_roots.h"
#include "server/mcp/sandbox/tool_content.h"
#include "tools/result_text.h"

namespace nutshell::mcp {
namespace {

constexpr const char* kSandboxParameter = "sandbox";
// Most calls end sooner, and clients rarely give up before half a minute.
constexpr std::chrono::milliseconds kTaskPatience{5000};

ToolResult unreachable(const Error& error) {
  ToolError told{ErrorCode::Unavailable,
                 "No sandbox can be used: " + error.message,
                 {},
                 "'nutshell doctor' on the host shows what is missing. Nothing was done."};
  return refuse(std::move(told));
}

// The words of tools and instructions for a sandbox without a network.
constexpr std::string_view kNoNetwork = "There is no network";
constexpr std::size_t kMostRulesTold = 12;

// The sentence that takes their place, without its full stop; empty if there is no network.
std::string network_words(const NetworkPolicy& policy) {
  switch (mode_of(policy)) {
    case NetworkMode::None:
      return {};
    case NetworkMode::UnsafeFull:
      return "There is a network";
    case NetworkMode::Allowed:
      break;
  }
  std::string rules;
  for (std::size_t i = 0; i < std::min(policy.allow.size(), kMostRulesTold); ++i)
    rules += (i == 0 ? "" : ", ") + policy.allow[i];
  if (policy.allow.size() > kMostRulesTold) rules += " and others";
  return "The network reaches only " + rules;
}

void tell_network(const NetworkPolicy& policy, std::vector<Tool>& tools) {
  const std::string words = network_words(policy);
  for (Tool& tool : tools) {
    const std::size_t place = tool.help.find(kNoNetwork);
    if (!words.empty() && place != std::string::npos)
      tool.help.replace(place, kNoNetwork.size(), words);
  }
}

}  // namespace

SandboxHost::SandboxHost(Sandboxes& sandboxes, SandboxHostOptions options)
    : sandboxes_(sandboxes),
      options_(std::move(options)),
      binding_(sandboxes, options_.spec, options_.session) {
  managing_from_ = options_.tools.size();
  options_.policy.has_network = mode_of(options_.spec.network) != NetworkMode::None;
  tell_network(options_.spec.network, options_.tools);
  if (options_.choosing == Choosing::Many) {
    for (Tool& tool : options_.tools) {
      Parameter named;
      named.name = kSandboxParameter;
      named.help = "Its id; without it, your own";
      tool.parameters.push_back(std::move(named));
    }
    for (Tool& tool : managing_tools(options_.policy.prefix))
      options_.tools.push_back(std::move(tool));
    options_.policy.mirrored_parameter = kSandboxParameter;
    options_.policy.mirrored_header = "Sandbox";
  }
  tools_ = tool_listing(options_.tools, options_.policy);
}

Description SandboxHost::describe() const {
  Description description;
  description.name = "nutshell";
  description.title = "Nutshell sandbox";
  description.version = options_.version;
  description.instructions = instructions();
  description.abilities = {.prompts = true,
                           .resources = true,
                           .completion = true,
                           .logging = true,
                           .lists_change = false,
                           .resources_change = false,
                           .task_patience = kTaskPatience};
  return description;
}

std::string SandboxHost::instructions() const {
  const bool has_project = !options_.spec.workspace.empty();
  std::string text = "Files and commands of these tools live in a sandbox: ";
  if (has_project) {
    text +=
        "/workspace is the project, copied on write, and the user's own files stay as they are.";
  } else if (options_.choose_project) {
    text +=
        "/workspace is a copy of the project if this client names its directory, and empty at "
        "first if it does not; the user's own files stay as they are.";
  } else {
    text += "/workspace is empty at first, and nothing of the user's machine is in it.";
  }
  const std::string network = network_words(options_.spec.network);
  text += " Use these tools instead of local ones to read, search, edit and run. ";
  text += network.empty() ? "There is no network: what a task needs must be in the sandbox already."
                          : model_text(network) + ".";
  if (has_project) {
    text +=
        " The user sees your work with `nutshell diff ID` and takes it over with `nutshell "
        "apply ID` (`nutshell list` has the id): say so when you are done.";
  }
  return text;
}

const Tool* SandboxHost::find(const std::string& name) const {
  for (const Tool& tool : options_.tools)
    if (tool.name == name) return &tool;
  return nullptr;
}

bool SandboxHost::is_managing(const Tool& tool) const {
  return static_cast<std::size_t>(&tool - options_.tools.data()) >= managing_from_;
}

std::vector<MirroredParameter> SandboxHost::mirrored(const std::string& tool) const {
  if (options_.choosing == Choosing::One || find(tool) == nullptr) return {};
  return {{kSandboxParameter, options_.policy.mirrored_header}};
}

void SandboxHost::forget(const Client& client) {
  if (client.session.empty() || !client.name.empty()) return;  // found again by its label
  const auto left = binding_.list(client);
  if (!left) return;
  for (const SandboxStatus& status : *left) {
    (void)sandboxes_.destroy({client.owner, status.id});  // else its lease ends it
    binding_.forget(client, status.id);
  }
}

std::string SandboxHost::content_of(const ToolResult& result) const {
  return tool_content(result, options_.policy.is_structured ? Content::Structured : Content::Text);
}

Result<std::string> SandboxHost::bound(Call& call, std::string& remark) {
  using How = SandboxBinding::Bound::How;
  const auto bound = TRY(binding_.bind(call.client()));
  if (bound.how == How::Known) return bound.id;
  const std::string verb = bound.how == How::Found ? "goes on in" : "made";
  const std::string told = fmt::format("{} sandbox {}", verb, bound.id);
  call.log(LogLevel::Info, told);
  if (options_.note) options_.note(told);
  if (!bound.remark.empty()) {
    remark = bound.remark;
  } else if (bound.how == How::MadeAnew) {
    remark =
        "(Your sandbox had ended; this is a new one. What was changed there and not applied is "
        "gone.)\n";
  }
  return bound.id;
}

Result<SandboxHost::Wanted> SandboxHost::place_call(Call& call, const Tool& tool,
                                                    const Json& arguments) {
  Wanted wanted;
  const bool may_name = options_.choosing == Choosing::Many && !is_managing(tool);
  const auto named = may_name ? arguments.find(kSandboxParameter) : arguments.end();
  if (named != arguments.end()) {
    Json others = arguments;
    others.erase(kSandboxParameter);
    wanted.arguments = std::make_unique<const Json>(std::move(others));
    if (!named->is_null() && !named->is_string())
      return failure(ErrorCode::InvalidArgument, "`sandbox` must be a string");
    if (named->is_string()) {
      wanted.id = TRY(binding_.own(call.client(), named->get<std::string>())).id;
      return wanted;
    }
  }
  wanted.id = TRY(bound(call, wanted.remark));
  return wanted;
}

ToolResult SandboxHost::run(Call& call, const Tool& tool, const Json& arguments, Wanted wanted) {
  const Json& own = wanted.arguments ? *wanted.arguments : arguments;
  ToolRunnerOptions options = options_.calls;
  options.interrupt = call.interrupt();
  const Sandboxes::Place place{call.client().owner, wanted.id};
  auto result = sandboxes_.call(place, tool, own, options);
  const bool is_lost = !result || (result->error && result->error->code == ErrorCode::Unavailable);
  if (is_lost && !call.is_cancelled() && binding_.is_gone(call.client(), wanted.id)) {
    std::string remark;
    const auto next = bound(call, remark);
    if (!next) return unreachable(next.error());
    // A call that did not reach the old sandbox, or only reads, is repeated in the new one.
    if (!result || tool.hints.is_read_only) {
      result = sandboxes_.call({place.owner, *next}, tool, own, options);
      wanted.remark = std::move(remark);
    } else {
      return refuse(ToolError{ErrorCode::Expired, "The sandbox ended during this call.", remark,
                              "A new sandbox is ready: call again."});
    }
  }
  if (!result) return unreachable(result.error());
  result->text.insert(0, wanted.remark);
  return std::move(*result);
}

std::optional<Reply> SandboxHost::ask_for_project(Call& call) {
  if (!options_.choose_project || !call.client().can("roots")) return std::nullopt;
  const std::lock_guard lock(asking_);
  if (has_asked_) return std::nullopt;
  std::string roots;
  if (!call.client().is_stateless()) {
    roots = call.ask("roots/list", "{}").value_or("");
  } else if (const std::string given = call.input_responses(); given.empty()) {
    return Answer{R"({"inputRequests":{"roots":{"method":"roots/list","params":{}}}})",
                  Answer::Type::InputRequired};
  } else {
    const Json answers = Json::parse(given, nullptr, false);
    if (answers.is_object() && answers.contains("roots")) roots = dump_json(answers["roots"]);
  }
  has_asked_ = true;
  const auto project = options_.choose_project(directories_in(roots));
  if (!project) return std::nullopt;
  binding_.adopt(project->workspace, project->label);
  if (options_.note) options_.note("the client's project is " + project->workspace);
  return std::nullopt;
}

Reply SandboxHost::call_tool(Call& call, const std::string& name, const Json& arguments) {
  const Tool* tool = find(name);
  if (tool == nullptr)
    return Problem{kInvalidParams, fmt::format("Unknown tool: {}", name.substr(0, 128))};
  if (auto question = ask_for_project(call)) return std::move(*question);
  if (is_managing(*tool)) return Answer{content_of(manage(call, *tool, arguments))};
  auto wanted = place_call(call, *tool, arguments);
  if (!wanted) {
    const bool is_wrong = wanted.error().code == ErrorCode::NotFound ||
                          wanted.error().code == ErrorCode::InvalidArgument;
    if (!is_wrong || options_.choosing == Choosing::One)
      return Answer{content_of(unreachable(wanted.error()))};
    return Answer{content_of(refuse(ToolError{ErrorCode::NotFound,
                                              wanted.error().message,
                                              {},
                                              "Call without `sandbox`, or list them."}))};
  }
  return Answer{content_of(run(call, *tool, arguments, std::move(*wanted)))};
}

}  // namespace nutshell::mcp
