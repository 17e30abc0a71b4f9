// Subscriptions of the stateless revision: requests that stay open and get notifications with their
// id.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "server/mcp/server.h"

namespace nutshell::mcp {
namespace {

constexpr std::size_t kMostListeners = 256;
constexpr std::size_t kMostUris = 256;

bool wants(const Json& filter, const char* name) {
  const auto found = filter.find(name);
  return found != filter.end() && found->is_boolean() && found->get<bool>();
}

std::string meta_with(const RunningCall& call) {
  return fmt::format(R"("_meta":{{"io.modelcontextprotocol/subscriptionId":{}}})", call.id());
}

std::string_view method_of(Listing listing) {
  switch (listing) {
    case Listing::Tools:
      return "notifications/tools/list_changed";
    case Listing::Prompts:
      return "notifications/prompts/list_changed";
    default:
      return "notifications/resources/list_changed";
  }
}

}  // namespace

Reply Server::listen(const CallPointer& call) {
  const Json& params = call->message().params();
  if (!params.contains("notifications") || !params["notifications"].is_object())
    return Problem{kInvalidParams, "`notifications` is missing, or not of its type"};
  const Json& filter = params["notifications"];
  const Abilities& can = description_.abilities;
  Listener listener{call,
                    can.lists_change && wants(filter, "toolsListChanged"),
                    can.lists_change && can.prompts && wants(filter, "promptsListChanged"),
                    can.lists_change && can.resources && wants(filter, "resourcesListChanged"),
                    {}};
  Json agreed = Json::object();
  if (listener.tools) agreed["toolsListChanged"] = true;
  if (listener.prompts) agreed["promptsListChanged"] = true;
  if (listener.resources) agreed["resourcesListChanged"] = true;
  const auto uris = filter.find("resourceSubscriptions");
  if (can.resources_change && uris != filter.end() && uris->is_array()) {
    for (const Json& uri : *uris)
      if (uri.is_string() && listener.uris.size() < kMostUris) listener.uris.push_back(uri);
    agreed["resourceSubscriptions"] = listener.uris;
  }
  const std::lock_guard lock(mutex_);  // the acknowledgement goes out before any notification
  std::erase_if(listeners_, [](const Listener& old) { return old.call->is_cancelled(); });
  if (listeners_.size() >= kMostListeners) return Problem{kInternalError, "too many subscriptions"};
  call->send(notification(
      "notifications/subscriptions/acknowledged",
      fmt::format(R"({{"notifications":{},{}}})", dump_json(agreed), meta_with(*call))));
  listeners_.push_back(std::move(listener));
  return Answer{"{}"};
}

void Server::end_listening(const CallPointer& call) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(listeners_, [&call](const Listener& one) { return one.call == call; });
  }
  const std::string result =
      fmt::format(R"({{"resultType":"complete","_meta":{{"io.modelcontextprotocol/serverInfo":{},)"
                  R"("io.modelcontextprotocol/subscriptionId":{}}}}})",
                  server_info_, call->id());
  call->respond(result_message(call->id(), result), 0);
  call->session().remove(call->id());
}

void Server::end_subscriptions(const Session& session) {
  std::vector<CallPointer> ended;
  {
    const std::lock_guard lock(mutex_);
    for (const Listener& listener : listeners_)
      if (&listener.call->session() == &session) ended.push_back(listener.call);
  }
  for (const CallPointer& call : ended)
    end_listening(call);
}

void Server::tell_changed(Listing listing) {
  const std::lock_guard lock(mutex_);
  for (const Listener& listener : listeners_) {
    const bool is_wanted = (listing == Listing::Tools && listener.tools) ||
                           (listing == Listing::Prompts && listener.prompts) ||
                           (listing == Listing::Resources && listener.resources);
    if (!is_wanted) continue;
    listener.call->send(
        notification(method_of(listing), fmt::format("{{{}}}", meta_with(*listener.call))));
  }
}

void Server::tell_resource_changed(const std::string& uri) {
  const std::lock_guard lock(mutex_);
  for (const Listener& listener : listeners_) {
    if (std::find(listener.uris.begin(), listener.uris.end(), uri) == listener.uris.end()) continue;
    listener.call->send(notification(
        "notifications/resources/updated",
        fmt::format(R"({{"uri":{},{}}})", json_string(uri), meta_with(*listener.call))));
  }
}

}  // namespace nutshell::mcp
