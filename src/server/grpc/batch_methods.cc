// Many commands, whose results are sent as they come.
#include <nlohmann/json.hpp>

#include "nutshell/v1/nutshell.pb.h"
#include "server/grpc/message_json.h"
#include "server/grpc/methods.h"
#include "server/http/requests.h"
#include "server/http/shapes.h"
#include "server/http/views.h"
#include "service/batch.h"

namespace nutshell::server {
namespace {

Result<> stream_batch(RpcCall& call) {
  const Json body = to_json(call.request);
  TRY(check_shape(body, batch_shape()));
  auto request = TRY(batch_of(body, call.caller));
  request.gone_descriptor = call.rpc.gone_descriptor();
  request.results = service::BatchRequest::Results::Dropped;
  TRY(service::run_batch(call.service, call.caller, request,
                         [&](std::size_t index, const service::BatchResult& result) {
                           v1::BatchResult message;
                           fill(message, to_json(result, index));
                           return call.rpc.write(message);
                         }));
  return {};
}

}  // namespace

std::vector<Method> batch_methods() {
  return {{"StreamBatch", stream_batch}};
}

}  // namespace nutshell::server
