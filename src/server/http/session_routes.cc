#include <nlohmann/json.hpp>

#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "server/http/views.h"
#include "service/sessions/sessions.h"

namespace nutshell::server {
namespace {

Result<> ensure(Call& call) {
  const auto request = TRY(session_of(call.body, call.caller));
  const auto view = TRY(call.service.sessions().ensure(call.caller, request));
  return reply(call, 200, to_json(view));
}

Result<> list(Call& call) {
  const auto page = call.service.sessions().list(call.caller, TRY(list_request_of(call)));
  Json sessions = Json::array();
  for (const service::SessionView& view : page.sessions)
    sessions.push_back(to_json(view));
  return reply(call, 200, {{"sessions", sessions}, {"next_cursor", cursor_json(page.next_cursor)}});
}

Result<> find(Call& call) {
  return reply(call, 200, to_json(TRY(call.service.sessions().find(call.caller, call.id()))));
}

Result<> renew(Call& call) {
  const auto lease = time_of(call.body, "lease_ms", {});
  return reply(call, 200,
               to_json(TRY(call.service.sessions().renew(call.caller, call.id(), lease))));
}

Result<> end(Call& call) {
  TRY(call.service.sessions().end(call.caller, call.id()));
  return reply_nothing(call);
}

Result<> forget(Call& call) {
  TRY(call.service.sessions().forget_workspace(call.caller, call.id()));
  return reply_nothing(call);
}

}  // namespace

std::vector<Route> session_routes() {
  return {{.method = "POST",
           .path = "/v1/sessions",
           .name = "ensureSession",
           .summary = "Find the session, or make it; its setup runs once in each of its lives",
           .handle = ensure,
           .takes = shape_of<SessionRequest, Direction::Taken>,
           .gives = shape_of<Session, Direction::Given>,
           .body = Route::Body::Object},
          {.method = "GET",
           .path = "/v1/sessions",
           .name = "listSessions",
           .summary = "The caller's sessions, in pages",
           .handle = list,
           .query = list_parameters(),
           .gives = session_page_shape},
          {.method = "GET",
           .path = "/v1/sessions/{name}",
           .name = "getSession",
           .summary = "One session",
           .handle = find,
           .gives = shape_of<Session, Direction::Given>},
          {.method = "POST",
           .path = "/v1/sessions/{name}/renew",
           .name = "renewSession",
           .summary = "Begin its lease again",
           .handle = renew,
           .takes = lease_shape,
           .gives = shape_of<Session, Direction::Given>,
           .body = Route::Body::Object},
          {.method = "DELETE",
           .path = "/v1/sessions/{name}",
           .name = "endSession",
           .summary = "End it, and its sandbox",
           .handle = end,
           .success = 204},
          {.method = "DELETE",
           .path = "/v1/sessions/{name}/workspace",
           .name = "forgetWorkspace",
           .summary = "Remove the files that sessions of this name left behind",
           .handle = forget,
           .success = 204}};
}

}  // namespace nutshell::server
