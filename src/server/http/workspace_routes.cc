#include <nlohmann/json.hpp>

#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "server/http/views.h"
#include "service/sandboxes/sandbox_files.h"

namespace nutshell::server {
namespace {

Running running_of(const Call& call) {
  return is_true(call.body, "kill") ? Running::Killed : Running::Refused;
}

Result<> changes(Call& call) {
  Json list = Json::array();
  const service::ChangeList found = TRY(call.service.files().changes(call.caller, call.id()));
  for (const JudgedChange& one : found.changes)
    list.push_back(to_json(one));
  return reply(call, 200, {{"changes", list}});
}

Result<> checkpoint(Call& call) {
  const std::string name =
      TRY(call.service.files().checkpoint(call.caller, call.id(), running_of(call)));
  return reply(call, 201, {{"checkpoint", name}});
}

Result<> rollback(Call& call) {
  const std::string name = text_of(call.body, "checkpoint", kBaseCheckpoint);
  TRY(call.service.files().rollback(call.caller, call.id(), name, running_of(call)));
  return reply_nothing(call);
}

Result<> fork(Call& call) {
  return reply_new_sandbox(call, TRY(call.service.fork(call.caller, call.id())));
}

Route on_one(const char* method, const char* what, const char* name, const char* summary) {
  return {.method = method,
          .path = std::string("/v1/sandboxes/{id}") + what,
          .name = name,
          .summary = summary,
          .handle = nullptr};
}

}  // namespace

std::vector<Route> workspace_routes() {
  Route see = on_one("GET", "/changes", "listChanges", "What differs from how it began");
  see.handle = changes;
  see.gives = changes_shape;
  Route keep = on_one("POST", "/checkpoints", "createCheckpoint", "Keep the files as they are");
  keep.handle = checkpoint;
  keep.takes = checkpoint_shape;
  keep.gives = checkpoint_shape;
  keep.success = 201;
  keep.body = Route::Body::Object;
  Route back = on_one("POST", "/rollback", "rollback", "Go back to a checkpoint");
  back.handle = rollback;
  back.takes = checkpoint_shape;
  back.success = 204;
  back.body = Route::Body::Object;
  Route another = on_one("POST", "/fork", "forkSandbox", "Another sandbox with the same files");
  another.handle = fork;
  another.gives = shape_of<SandboxStatus, Direction::Given>;
  another.success = 201;
  return {see, keep, back, another};
}

}  // namespace nutshell::server
