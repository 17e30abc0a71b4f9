#include <nlohmann/json.hpp>

#include "server/http/requests.h"
#include "server/http/route.h"
#include "server/http/shapes.h"
#include "server/http/views.h"
#include "service/evidence.h"

namespace nutshell::server {
namespace {

Result<> audit_records(Call& call) {
  audit::Filter filter;
  filter.sandbox = text_parameter(call, "sandbox");
  filter.session = text_parameter(call, "session");
  filter.action = text_parameter(call, "action");
  constexpr std::uint64_t kLast = INT64_MAX;
  const auto since = TRY(number_parameter(call, "since_us", 0));
  const auto until = TRY(number_parameter(call, "until_us", kLast));
  filter.since_us = static_cast<std::int64_t>(std::min(since, kLast));
  filter.until_us = static_cast<std::int64_t>(std::min(until, kLast));
  filter.after_id = TRY(number_parameter(call, "cursor", 0));
  filter.most = TRY(number_parameter(call, "limit", 100));
  if (filter.most < 1 || filter.most > 1000) {
    return failure(ErrorCode::InvalidArgument, "the parameter 'limit' must be 1 to 1000");
  }
  const auto records = TRY(call.service.evidence().records(call.caller, filter));
  Json list = Json::array();
  for (const audit::Record& record : records)
    list.push_back(to_json(record));
  const bool is_last = records.size() < filter.most;
  const std::string cursor = is_last ? "" : std::to_string(records.back().id);
  return reply(call, 200, {{"records", list}, {"next_cursor", cursor_json(cursor)}});
}

Result<> history(Call& call) {
  Json entries = Json::array();
  for (const service::HistoryEntry& entry :
       TRY(call.service.evidence().history(call.caller, call.id())))
    entries.push_back(to_json(entry));
  return reply(call, 200, {{"entries", entries}});
}

}  // namespace

std::vector<Route> evidence_routes() {
  using enum Field::Type;
  return {{.method = "GET",
           .path = "/v1/audit",
           .name = "listAuditRecords",
           .summary = "The caller's part of the record, oldest first, in pages",
           .handle = audit_records,
           .query = {{.name = "sandbox"},
                     {.name = "session"},
                     {.name = "action"},
                     {.name = "since_us", .type = Integer, .help = "since 1970", .least = 0},
                     {.name = "until_us", .type = Integer, .least = 0},
                     {.name = "cursor", .type = Integer, .least = 0},
                     {.name = "limit", .type = Integer, .least = 1, .most = 1000}},
           .gives = audit_page_shape},
          {.method = "GET",
           .path = "/v1/sandboxes/{id}/history",
           .name = "getHistory",
           .summary = "What was done in a sandbox",
           .handle = history,
           .gives = history_shape}};
}

}  // namespace nutshell::server
