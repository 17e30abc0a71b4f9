#include "server/mcp/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/json_text.h"
#include "server/mcp/request_meta.h"

namespace nutshell::mcp {
namespace {

enum class Speed : std::uint8_t { Quick, Slow };
enum class Forms : std::uint8_t { Session, Stateless, Both };
enum class Need : std::uint8_t {
  Nothing,
  Prompts,
  Resources,
  Completion,
  Logging,
  Watching,
  Tasks
};

bool has(const Abilities& abilities, Need need) {
  switch (need) {
    case Need::Nothing:
      return true;
    case Need::Prompts:
      return abilities.prompts;
    case Need::Resources:
      return abilities.resources;
    case Need::Completion:
      return abilities.completion;
    case Need::Logging:
      return abilities.logging;
    case Need::Watching:
      return abilities.lists_change || abilities.resources_change;
    case Need::Tasks:
      return abilities.task_patience.has_value();
  }
  return false;
}

Problem missing(std::string_view name) {
  return {kInvalidParams, fmt::format("`{}` is missing, or not of its type", name)};
}

bool can_take_tasks(const Client& client) {
  return client.is_stateless() && client.can("extensions/io.modelcontextprotocol~1tasks");
}

Problem needs_tasks() {
  return {
      kMissingCapability, "tasks are for clients that declare them",
      fmt::format(R"({{"requiredCapabilities":{{"extensions":{{"{}":{{}}}}}}}})", kTasksExtension)};
}

}  // namespace

struct Server::Method {
  std::string_view name;
  Forms forms;
  Speed speed;
  Need need;
  Reply (*answer)(Server& server, RunningCall& call);
  bool is_cacheable = false;
};

struct Server::Methods {
  static Reply initialize(Server& server, RunningCall& call) {
    const std::string wanted = call.message().text("protocolVersion");
    if (wanted.empty()) return missing("protocolVersion");
    const auto& known = session_revisions();
    const bool is_known = std::find(known.begin(), known.end(), wanted) != known.end();
    const std::string revision = is_known ? wanted : std::string(kLastSessionRevision);
    call.session().agree(revision, dump_json(call.message().object("capabilities")));
    Client client = call.client();
    client.revision = revision;
    return Answer{fmt::format(R"({{"protocolVersion":"{}","capabilities":{},"serverInfo":{}{}{}}})",
                              revision, server.capabilities_of(client), server.server_info_,
                              server.description_.instructions.empty() ? "" : ",\"instructions\":",
                              server.description_.instructions.empty()
                                  ? ""
                                  : json_string(server.description_.instructions))};
  }
  static Reply discover(Server& server, RunningCall& call) {
    return Answer{fmt::format(R"({{"supportedVersions":["{}"],"capabilities":{}{}{}}})",
                              kStatelessRevision, server.capabilities_of(call.client()),
                              server.description_.instructions.empty() ? "" : ",\"instructions\":",
                              server.description_.instructions.empty()
                                  ? ""
                                  : json_string(server.description_.instructions))};
  }
  static Reply ping(Server& /*server*/, RunningCall& /*call*/) { return Answer{"{}"}; }
  static Reply set_level(Server& /*server*/, RunningCall& call) {
    const auto level = parse_log_level(call.message().text("level"));
    if (!level) return missing("level");
    call.session().set_log_level(*level);
    return Answer{"{}"};
  }
  template <Listing listing>
  static Reply list(Server& server, RunningCall& call) {
    // Everything is on the first page, so no cursor can be ours.
    if (call.message().params().contains("cursor"))
      return Problem{kInvalidParams, "unknown cursor"};
    return Answer{server.host_.list(listing, call.client())};
  }
  static Reply call_tool(Server& server, RunningCall& call) {
    const Json& params = call.message().params();
    const std::string name = call.message().text("name");
    if (name.empty()) return missing("name");
    const auto arguments = params.find("arguments");
    const bool is_given = arguments != params.end() && !arguments->is_null();
    if (is_given && !arguments->is_object()) return missing("arguments");
    return server.host_.call_tool(call, name, call.message().object("arguments"));
  }
  static Reply get_prompt(Server& server, RunningCall& call) {
    const std::string name = call.message().text("name");
    if (name.empty()) return missing("name");
    return server.host_.get_prompt(call, name, call.message().object("arguments"));
  }
  static Reply read_resource(Server& server, RunningCall& call) {
    const std::string uri = call.message().text("uri");
    if (uri.empty()) return missing("uri");
    return server.host_.read_resource(call, uri);
  }
  static Reply watch(Server& /*server*/, RunningCall& call) {
    const std::string uri = call.message().text("uri");
    if (uri.empty()) return missing("uri");
    call.session().watch_resource(uri);
    return Answer{"{}"};
  }
  static Reply unwatch(Server& /*server*/, RunningCall& call) {
    call.session().unwatch_resource(call.message().text("uri"));
    return Answer{"{}"};
  }
  static Reply complete(Server& server, RunningCall& call) {
    const Json& params = call.message().params();
    const bool has_both = params.contains("ref") && params["ref"].is_object() &&
                          params.contains("argument") && params["argument"].is_object();
    if (!has_both) return missing("ref` and `argument");
    return server.host_.complete(call, params);
  }

  // An update answers a task's question; our tasks ask none.
  enum class TaskVerb : std::uint8_t { Get, Update, Result, Cancel };
  template <TaskVerb verb>
  static Reply task(Server& server, RunningCall& call) {
    if (!can_take_tasks(call.client())) return needs_tasks();
    const std::string id = call.message().text("taskId");
    if (id.empty()) return missing("taskId");
    if (verb == TaskVerb::Cancel) return server.tasks_.cancel(call.client(), id);
    if (verb == TaskVerb::Result) return server.tasks_.result(call, id);
    Reply found = server.tasks_.get(call.client(), id);
    if (verb == TaskVerb::Get || std::holds_alternative<Problem>(found)) return found;
    return Answer{"{}"};
  }

  static constexpr std::array<Method, 19> kAll = {{
      {"initialize", Forms::Session, Speed::Quick, Need::Nothing, initialize},
      {"server/discover", Forms::Stateless, Speed::Quick, Need::Nothing, discover, true},
      {"ping", Forms::Session, Speed::Quick, Need::Nothing, ping},
      {"logging/setLevel", Forms::Session, Speed::Quick, Need::Logging, set_level},
      {"tools/list", Forms::Both, Speed::Quick, Need::Nothing, list<Listing::Tools>, true},
      {"tools/call", Forms::Both, Speed::Slow, Need::Nothing, call_tool},
      {"prompts/list", Forms::Both, Speed::Quick, Need::Prompts, list<Listing::Prompts>, true},
      {"prompts/get", Forms::Both, Speed::Slow, Need::Prompts, get_prompt},
      {"resources/list", Forms::Both, Speed::Quick, Need::Resources, list<Listing::Resources>,
       true},
      {"resources/templates/list", Forms::Both, Speed::Quick, Need::Resources,
       list<Listing::ResourceTemplates>, true},
      {"resources/read", Forms::Both, Speed::Slow, Need::Resources, read_resource, true},
      {"resources/subscribe", Forms::Session, Speed::Quick, Need::Watching, watch},
      {"resources/unsubscribe", Forms::Session, Speed::Quick, Need::Watching, unwatch},
      {"completion/complete", Forms::Both, Speed::Slow, Need::Completion, complete},
      {"subscriptions/listen", Forms::Stateless, Speed::Slow, Need::Watching, nullptr},
      {"tasks/get", Forms::Stateless, Speed::Quick, Need::Tasks, task<TaskVerb::Get>},
      {"tasks/result", Forms::Stateless, Speed::Slow, Need::Tasks, task<TaskVerb::Result>},
      {"tasks/update", Forms::Stateless, Speed::Quick, Need::Tasks, task<TaskVerb::Update>},
      {"tasks/cancel", Forms::Stateless, Speed::Quick, Need::Tasks, task<TaskVerb::Cancel>},
  }};
};

const std::vector<std::string>& session_revisions() {
  static const std::vector<std::string> kKnown = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                  "2024-11-05"};
  return kKnown;
}

Server::Server(Host& host) : host_(host), description_(host.describe()) {
  const std::string title = description_.title.empty()
                                ? ""
                                : fmt::format(",\"title\":{}", json_string(description_.title));
  server_info_ = fmt::format(R"({{"name":{},"version":{}{}}})", json_string(description_.name),
                             json_string(description_.version), title);
}

std::string Server::capabilities_of(const Client& client) const {
  const Abilities& can = description_.abilities;
  Json all = Json::object();
  all["tools"] = Json::object();
  if (can.prompts) all["prompts"] = Json::object();
  if (can.resources) all["resources"] = Json::object();
  if (can.completion) all["completions"] = Json::object();
  if (can.logging) all["logging"] = Json::object();
  if (can.resources_change) all["resources"]["subscribe"] = true;
  if (can.task_patience && client.is_stateless())
    all["extensions"][kTasksExtension] = Json::object();
  // Sent to listeners only: a session has no stream for it.
  if (can.lists_change && client.is_stateless())
    for (const char* what : {"tools", "prompts", "resources"})
      if (all.contains(what)) all[what]["listChanged"] = true;
  return dump_json(all);
}

const Server::Method* Server::find(const RunningCall& call) const {
  const bool is_stateless = call.client().is_stateless();
  for (const Method& method : Methods::kAll) {
    if (method.name != call.message().method) continue;
    const Forms other = is_stateless ? Forms::Session : Forms::Stateless;
    const bool is_ours = method.forms != other && has(description_.abilities, method.need);
    return is_ours ? &method : nullptr;
  }
  return nullptr;
}

Server::CallPointer Server::begin(const Connection& connection, Message message) {
  switch (message.kind) {
    case Message::Kind::Request:
      return begin_request(connection, std::move(message));
    case Message::Kind::Notification:
      take_notification(connection, message);
      return nullptr;
    case Message::Kind::Response:
      connection.session->take_response(message);
      return nullptr;
    case Message::Kind::Refused:
      connection.channel->respond(error_message(message.id, message.problem), message.problem.code);
      return nullptr;
  }
  return nullptr;
}

Server::CallPointer Server::begin_request(const Connection& connection, Message message) {
  auto origin = origin_of(connection, message);
  if (const auto* problem = std::get_if<Problem>(&origin)) {
    connection.channel->respond(error_message(message.id, *problem), problem->code);
    return nullptr;
  }
  auto call = std::make_shared<RunningCall>(std::move(std::get<RunningCall::Origin>(origin)),
                                            std::move(message));
  const Method* method = find(*call);
  if (method == nullptr) {
    const std::string told =
        fmt::format("Method not found: {}", call->message().method.substr(0, 80));
    finish(*call, Problem{kMethodNotFound, told});
    return nullptr;
  }
  if (method->speed == Speed::Quick) {
    finish(*call, method->answer(*this, *call));
    return nullptr;
  }
  if (!connection.session->add(call)) {
    finish(*call, Problem{kInvalidRequest, "a request with this id is still running"});
    return nullptr;
  }
  if (call->wants_progress()) clock_.watch(call);
  return call;
}

std::variant<RunningCall::Origin, Problem> Server::origin_of(const Connection& connection,
                                                             const Message& message) {
  RunningCall::Origin origin{connection.session, connection.channel, connection.session->client(),
                             std::nullopt};
  const bool has_meta = names_revision(message);
  const bool is_stateless =
      connection.form == ProtocolForm::Stateless || has_meta ||
      (message.method == "server/discover" && !connection.session->is_agreed());
  if (!is_stateless) {
    const bool may_come_first = message.method == "initialize" || message.method == "ping";
    if (!connection.session->is_agreed() && !may_come_first) {
      return Problem{kInvalidParams, fmt::format("_meta[\"{}\"] is missing, and no initialize came "
                                                 "before",
                                                 kRevisionKey)};
    }
    if (message.method == "initialize" && connection.session->is_agreed())
      return Problem{kInvalidRequest, "initialize came before"};
    origin.log_level = connection.session->log_level();
    return origin;
  }
  auto meta = read_meta(message);
  if (auto* problem = std::get_if<Problem>(&meta)) return std::move(*problem);
  auto& read = std::get<RequestMeta>(meta);
  origin.client.revision = std::move(read.revision);
  origin.client.capabilities = std::move(read.capabilities);
  origin.log_level = read.log_level;
  return origin;
}

void Server::take_notification(const Connection& connection, const Message& message) {
  if (message.method != "notifications/cancelled") return;  // nothing else changes what we do
  const auto id = message.params().find("requestId");
  if (id == message.params().end()) return;
  const auto call = connection.session->cancel(dump_json(*id));
  if (call && is_subscription(*call)) end_listening(call);  // no thread will
}

void Server::run(const CallPointer& call) {
  std::optional<Reply> reply;
  if (is_subscription(*call)) {
    reply = listen(call);
    if (std::holds_alternative<Answer>(*reply)) return;  // the subscription stays open
  } else if (!call->is_cancelled()) {
    reply = answer(call);
  }
  // Before the answer: a client that has it may use the id again.
  call->session().remove(call->id());
  if (reply) {
    finish(*call, *reply);
  } else {
    call->respond({}, 0);
  }
}

Reply Server::answer(const CallPointer& call) {
  const Method* method = find(*call);
  const auto work = [this, method, call] { return method->answer(*this, *call); };
  const auto& patience = description_.abilities.task_patience;
  const bool may_become_a_task =
      patience && call->message().method == "tools/call" && can_take_tasks(call->client());
  return may_become_a_task ? tasks_.run(call, work, *patience) : work();
}

bool Server::is_subscription(const RunningCall& call) {
  return call.message().method == "subscriptions/listen";
}

void Server::finish(RunningCall& call, const Reply& reply) {
  if (const auto* answer = std::get_if<Answer>(&reply)) {
    call.respond(result_message(call.id(), envelope(call, *answer)), 0);
    return;
  }
  Problem problem = std::get<Problem>(reply);
  if (problem.code == kResourceNotFound && call.client().is_stateless())
    problem.code = kInvalidParams;
  call.respond(error_message(call.id(), problem), problem.code);
}

std::string Server::envelope(const RunningCall& call, const Answer& answer) const {
  if (!call.client().is_stateless()) return answer.object;
  const bool is_complete = answer.type == Answer::Type::Complete;
  const bool is_task = answer.type == Answer::Type::Task;
  std::string fields =
      fmt::format(R"("resultType":"{}","_meta":{{"io.modelcontextprotocol/serverInfo":{}}})",
                  is_complete ? "complete"
                  : is_task   ? "task"
                              : "input_required",
                  server_info_);
  const Method* method = find(call);
  const bool is_cacheable = method != nullptr && method->is_cacheable && is_complete;
  // The content of a resource may change at any moment; the lists do not.
  const int ttl_ms = call.message().method == "resources/read" ? 0 : 300'000;
  if (is_cacheable) fields += fmt::format(R"(,"ttlMs":{},"cacheScope":"private")", ttl_ms);
  return with_fields(answer.object, fields);
}

}  // namespace nutshell::mcp
