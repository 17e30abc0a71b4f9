#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "telemetry/exporter.h"

namespace nutshell::telemetry {
namespace {

using Json = nlohmann::ordered_json;

// 64-bit numbers are texts in protobuf's JSON.
std::string nanoseconds(std::chrono::system_clock::time_point when) {
  using std::chrono::duration_cast;
  return std::to_string(duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count());
}

Json attribute_json(const Attribute& attribute) {
  if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) {
    return {{"key", attribute.name}, {"value", {{"intValue", std::to_string(*number)}}}};
  }
  return {{"key", attribute.name},
          {"value", {{"stringValue", std::get<std::string>(attribute.value)}}}};
}

Json span_json(const Span& span) {
  Json attributes = Json::array();
  for (const Attribute& attribute : span.attributes)
    attributes.push_back(attribute_json(attribute));
  Json json = {{"traceId", hexadecimal(span.place.trace.data(), span.place.trace.size())},
               {"spanId", hexadecimal(span.place.span.data(), span.place.span.size())},
               {"name", span.name},
               {"kind", static_cast<int>(span.kind)},
               {"startTimeUnixNano", nanoseconds(span.begin)},
               {"endTimeUnixNano", nanoseconds(span.end)},
               {"attributes", attributes}};
  if (span.parent != std::array<std::uint8_t, 8>{}) {
    json["parentSpanId"] = hexadecimal(span.parent.data(), span.parent.size());
  }
  if (span.has_failed) json["status"] = {{"code", 2}};
  return json;
}

}  // namespace

std::string otlp_json(const std::vector<Span>& spans, const std::string& service_name) {
  Json list = Json::array();
  for (const Span& span : spans)
    list.push_back(span_json(span));
  const Json scope = {{"scope", {{"name", "nutshell"}}}, {"spans", list}};
  const Json names = Json::array({attribute_json({"service.name", service_name})});
  const Json resource = {{"resource", {{"attributes", names}}},
                         {"scopeSpans", Json::array({scope})}};
  const Json body = {{"resourceSpans", Json::array({resource})}};
  return dump_json(body);
}

}  // namespace nutshell::telemetry
