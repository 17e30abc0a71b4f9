// Routes for the command line, which reaches a sandbox's init through the daemon.
#include <nlohmann/json.hpp>

#include "base/defer.h"
#include "server/http/problem.h"
#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "server/http/views.h"
#include "service/execs/init_streams.h"

namespace nutshell::server {
namespace {

constexpr const char* kProtocol = "nutshell-wire";

class Metering : public http::RelayFilter {
 public:
  explicit Metering(service::StreamMeter& meter) : meter_(meter) {}
  Result<Passed> from_transport(std::string_view bytes) override {
    return passed(TRY(meter_.from_client(bytes)));
  }
  Result<Passed> from_stream(std::string_view bytes) override {
    return passed(TRY(meter_.from_init(bytes)));
  }
  [[nodiscard]] bool is_idle() const override { return meter_.is_idle(); }

 private:
  static Passed passed(service::StreamMeter::Passed given) {
    return {std::move(given.to_init), std::move(given.to_client)};
  }
  service::StreamMeter& meter_;
};

bool wants_stream(const Call& call) {
  return call.exchange != nullptr && call.exchange->headers().has_word("Upgrade", kProtocol);
}

Result<> refuse_without_upgrade(Call& call) {
  const Error error{ErrorCode::InvalidArgument,
                    "this route needs the header Upgrade: nutshell-wire"};
  if (call.exchange == nullptr) return Failure(error);
  return reply_problem(*call.exchange, 426, error, {{"Upgrade", kProtocol}});
}

// From here on the connection is the byte stream to init.
Result<> carry(Call& call, const std::string& id) {
  const auto stream = TRY(call.service.streams().open(call.caller, id));
  Metering metering(stream->meter);
  return call.exchange->upgrade_and_relay(
      kProtocol, {stream->descriptor.get(), {{"Nutshell-Sandbox", id}}, &metering});
}

Result<> open_stream(Call& call) {
  if (!wants_stream(call)) return refuse_without_upgrade(call);
  return carry(call, call.id());
}

Result<> open_own(Call& call) {
  if (!wants_stream(call)) return refuse_without_upgrade(call);
  service::CreateRequest request;
  request.spec = TRY(spec_of(call.body, call.caller));
  request.ends_with_service = true;
  const std::string id = TRY(call.service.create(call.caller, request)).id;
  const Defer ended([&] { call.service.streams().end_sandbox(call.caller, id); });
  return carry(call, id);
}

Result<> restack(Call& call) {
  TRY(call.service.streams().restack(call.caller, call.id(), texts_of(call.body, "layers")));
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
    case Gone::Reason::CutOff:  // a matter of its own connection, which the client knows better
    case Gone::Reason::Unknown:
      return "unknown";
  }
  return "unknown";
}

Result<> why_gone(Call& call) {
  const Gone gone = TRY(call.service.streams().why_gone(call.caller, call.id()));
  return reply(call, 200, {{"reason", word_for(gone.reason)}, {"text", gone.text}});
}

Result<> sweep(Call& call) {
  const SweepMode mode = is_true(call.body, "dry_run") ? SweepMode::DryRun : SweepMode::Remove;
  const SweepReport report = call.service.streams().sweep(call.caller, mode);
  return reply(call, 200, {{"removed", report.removed}, {"failed", report.failed}});
}

const Shape& layers_shape() {
  static const Shape kShape{"Layers",
                            {{"layers", Field::Type::TextList, "", Field::Presence::Required}}};
  return kShape;
}

const Shape& environment_shape() {
  static const Shape kShape{
      "Environment", {{"environment", Field::Type::TextList, "", Field::Presence::Required}}};
  return kShape;
}

const Shape& gone_shape() {
  static const Shape kShape{"Gone", {{"reason"}, {"text"}}};
  return kShape;
}

const Shape& sweep_shape() {
  static const Shape kShape{"Sweep", {{"dry_run", Field::Type::Boolean}}};
  return kShape;
}

const Shape& swept_shape() {
  static const Shape kShape{
      "Swept", {{"removed", Field::Type::TextList}, {"failed", Field::Type::TextList}}};
  return kShape;
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
           .path = "/v1/streams",
           .name = "openOwnStream",
           .summary = "The same, with a sandbox of its own that ends with the connection",
           .handle = open_own,
           .takes = shape_of<SandboxSpec, Direction::Taken>,
           .success = 101,
           .body = Route::Body::Object},
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
