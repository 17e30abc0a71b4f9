// For the command line, which reaches a sandbox's init through the daemon.
#include <nlohmann/json.hpp>

#include "server/http/problem.h"
#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "server/http/views.h"

namespace nutshell::server {
namespace {

constexpr const char* kProtocol = "nutshell-wire";

// From here on the connection is the byte stream to init.
Result<> open_stream(Call& call) {
  if (!call.exchange->headers().has_word("Upgrade", kProtocol)) {
    return reply_problem(*call.exchange, 426,
                         {ErrorCode::InvalidArgument, "this route wants Upgrade: nutshell-wire"},
                         {{"Upgrade", kProtocol}});
  }
  const UniqueFd stream = TRY(call.service.open_stream(call.caller, call.id()));
  return call.exchange->upgrade_and_relay(kProtocol, stream.get());
}

Result<> restack(Call& call) {
  TRY(call.service.restack(call.caller, call.id(), texts_of(call.body, "layers")));
  return reply_nothing(call);
}

Result<> environment(Call& call) {
  const SandboxSpec spec = TRY(call.service.spec_of(call.caller, call.id()));
  return reply(call, 200, {{"environment", spec.environment}});
}

const char* word_for(Gone::Reason reason) {
  switch (reason) {
    case Gone::Reason::NeverStarted:
      return "never-started";
    case Gone::Reason::OutOfMemory:
      return "out-of-memory";
    case Gone::Reason::Unknown:
      return "unknown";
  }
  return "unknown";
}

Result<> why_gone(Call& call) {
  const Gone gone = TRY(call.service.why_gone(call.caller, call.id()));
  return reply(call, 200, {{"reason", word_for(gone.reason)}, {"text", gone.text}});
}

Result<> sweep(Call& call) {
  const SweepMode mode = is_true(call.body, "dry_run") ? SweepMode::DryRun : SweepMode::Remove;
  const SweepReport report = call.service.sweep(call.caller, mode);
  return reply(call, 200, {{"removed", report.removed}, {"failed", report.failed}});
}

const Shape& layers_shape() {
  static const Shape shape{"Layers",
                           {{"layers", Field::Type::TextList, "", Field::Presence::Required}}};
  return shape;
}

const Shape& environment_shape() {
  static const Shape shape{"Environment",
                           {{"environment", Field::Type::TextList, "", Field::Presence::Required}}};
  return shape;
}

const Shape& gone_shape() {
  static const Shape shape{"Gone", {{"reason"}, {"text"}}};
  return shape;
}

const Shape& sweep_shape() {
  static const Shape shape{"Sweep", {{"dry_run", Field::Type::Boolean}}};
  return shape;
}

const Shape& swept_shape() {
  static const Shape shape{"Swept",
                           {{"removed", Field::Type::TextList}, {"failed", Field::Type::TextList}}};
  return shape;
}

}  // namespace

std::vector<Route> backend_routes() {
  return {{.method = "POST",
           .path = "/v1/sandboxes/{id}/stream",
           .name = "openStream",
           .summary = "Upgrade: nutshell-wire makes this connection the stream to its init",
           .handle = open_stream,
           .success = 101},
          {.method = "POST",
           .path = "/v1/sandboxes/{id}/restack",
           .name = "restack",
           .summary = "Make /workspace the stack of these layers",
           .handle = restack,
           .takes = layers_shape,
           .success = 204,
           .body = Route::Body::Object},
          {.method = "GET",
           .path = "/v1/sandboxes/{id}/environment",
           .name = "getEnvironment",
           .summary = "What it was started with; may hold secrets",
           .handle = environment,
           .gives = environment_shape},
          {.method = "GET",
           .path = "/v1/sandboxes/{id}/gone",
           .name = "whyGone",
           .summary = "Why a sandbox no longer answers",
           .handle = why_gone,
           .gives = gone_shape},
          {.method = "POST",
           .path = "/v1/sweep",
           .name = "sweep",
           .summary = "Remove what dead sandboxes left",
           .handle = sweep,
           .takes = sweep_shape,
           .gives = swept_shape,
           .body = Route::Body::Object}};
}

}  // namespace nutshell::server
