#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "server/http/views.h"
#include "service/batch.h"

namespace nutshell::server {
namespace {

// Sends the results as they come, in any order.
Result<> stream(Call& call, service::BatchRequest request) {
  request.results = service::BatchRequest::Results::Dropped;
  TRY(call.exchange->begin_stream(200, {{"Content-Type", "application/x-ndjson"}}));
  TRY(service::run_batch(call.service, call.caller, request,
                         [&](std::size_t index, const service::BatchResult& one) {
                           return call.exchange->write(dump_json(to_json(one, index)) + "\n");
                         }));
  return call.exchange->finish();
}

// Each result is JSON only while it is sent.
Result<> send_one_by_one(http::Exchange& exchange,
                         const std::vector<service::BatchResult>& results) {
  TRY(exchange.begin_stream(200, {{"Content-Type", "application/json"}}));
  TRY(exchange.write(R"({"results":[)"));
  for (std::size_t i = 0; i < results.size(); ++i)
    TRY(exchange.write((i == 0 ? "" : ",") + dump_json(to_json(results[i], i))));
  TRY(exchange.write("]}"));
  return exchange.finish();
}

Result<> batch(Call& call) {
  auto request = TRY(batch_of(call.body, call.caller));
  request.gone_descriptor = call.gone_descriptor();
  if (call.exchange != nullptr &&
      call.exchange->headers().has_word("Accept", "application/x-ndjson")) {
    return stream(call, std::move(request));
  }
  const auto results = TRY(service::run_batch(
      call.service, call.caller, request, [](std::size_t, const auto&) -> Result<> { return {}; }));
  if (call.exchange != nullptr) return send_one_by_one(*call.exchange, results);
  Json list = Json::array();
  for (std::size_t i = 0; i < results.size(); ++i)
    list.push_back(to_json(results[i], i));
  return reply(call, 200, {{"results", list}});
}

}  // namespace

std::vector<Route> batch_routes() {
  return {{.method = "POST",
           .path = "/v1/batch",
           .name = "batch",
           .summary = "Run many commands, each in a sandbox of its own; as NDJSON, in the order of "
                      "their ends",
           .handle = batch,
           .takes = batch_shape,
           .gives = batch_results_shape,
           .body = Route::Body::Object,
           .most_body_bytes = kMostContentBytes}};
}

}  // namespace nutshell::server
