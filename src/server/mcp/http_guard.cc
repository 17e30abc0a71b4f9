#include "server/mcp/http_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "core/json_text.h"
#include "server/mcp/request_meta.h"

namespace nutshell::mcp {
namespace {

// "[::1]:80" → "[::1]", "localhost:80" → "localhost"
std::string_view without_port(std::string_view host) {
  const std::size_t end = host.starts_with('[') ? host.find(']') : 0;
  if (end == std::string_view::npos) return host;
  const std::size_t colon = host.find(':', end);
  if (colon == std::string_view::npos) return host;
  const std::string_view port = host.substr(colon + 1);
  const bool is_port = port.size() <= 5 && port.find_first_not_of("0123456789") == port.npos;
  return is_port ? host.substr(0, colon) : host;
}

bool is_this_machine(std::string_view host) {
  return host == "127.0.0.1" || host == "[::1]" || http::equal_in_any_case(host, "localhost");
}

bool is_allowed_host(std::string_view host, const AllowedNames& allowed) {
  const std::string_view name = without_port(host);
  return is_this_machine(name) ||
         std::any_of(allowed.hosts.begin(), allowed.hosts.end(),
                     [&](const std::string& one) { return http::equal_in_any_case(one, name); });
}

bool is_allowed_origin(std::string_view origin, const AllowedNames& allowed) {
  for (const std::string& one : allowed.origins)
    if (http::equal_in_any_case(one, origin)) return true;
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme))
      return is_this_machine(without_port(origin.substr(scheme.size())));
  return false;
}

Problem mismatch(std::string_view header, std::string_view why) {
  return {kHeaderMismatch, fmt::format("Header mismatch: {} {}", header, why)};
}

std::optional<Problem> check_one(const http::Headers& headers, std::string_view name,
                                 std::string_view wanted) {
  if (headers.count(name) > 1) return mismatch(name, "is given twice");
  const std::string* raw = headers.find(name);
  if (raw == nullptr) return mismatch(name, "is missing");
  const auto value = header_value(*raw);
  if (!value) return mismatch(name, "is no base64");
  if (*value != wanted) return mismatch(name, "is not what the body says");
  return std::nullopt;
}

std::string_view name_member(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  if (method.starts_with("tasks/")) return "taskId";
  return method == "resources/read" ? "uri" : "";
}

bool is_same_number(const std::string& text, const Json& value) {
  char* end = nullptr;
  const double given = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && given == value.get<double>();
}

std::optional<Problem> check_parameter(const http::Headers& headers, const Json& arguments,
                                       const MirroredParameter& parameter) {
  const std::string name = "Mcp-Param-" + parameter.header;
  const auto value = arguments.find(parameter.name);
  if (value == arguments.end() || value->is_null()) {
    if (headers.find(name) == nullptr) return std::nullopt;
    return mismatch(name, "has no argument in the body");
  }
  if (!value->is_number())
    return check_one(headers, name,
                     value->is_string() ? value->get<std::string>() : dump_json(*value));
  const std::string* raw = headers.find(name);
  const auto text = raw != nullptr ? header_value(*raw) : std::nullopt;
  if (text && is_same_number(*text, *value)) return std::nullopt;
  return mismatch(name, "is not what the body says");
}

}  // namespace

std::optional<std::string> check_names(const http::Headers& headers, const AllowedNames& allowed) {
  if (headers.count("Host") != 1) return "one Host header is needed";
  if (!is_allowed_host(headers.get("Host"), allowed)) return "this Host is not served here";
  if (headers.count("Origin") > 1) return "two Origin headers";
  const std::string* origin = headers.find("Origin");
  if (origin != nullptr && !is_allowed_origin(*origin, allowed))
    return "this Origin is not allowed";
  return std::nullopt;
}

std::optional<std::string> header_value(std::string_view raw) {
  constexpr std::string_view kBegin = "=?base64?";
  constexpr std::string_view kEnd = "?=";
  const bool is_encoded =
      raw.size() >= kBegin.size() + kEnd.size() && raw.starts_with(kBegin) && raw.ends_with(kEnd);
  if (!is_encoded) return std::string(raw);
  raw.remove_prefix(kBegin.size());
  raw.remove_suffix(kEnd.size());
  return from_base64(raw);
}

std::optional<Problem> check_headers(const http::Headers& headers, const Message& message,
                                     const std::vector<MirroredParameter>& mirrored) {
  const std::string revision = named_revision(message);
  if (revision.empty()) return std::nullopt;  // the server refuses the missing _meta
  if (auto wrong = check_one(headers, "MCP-Protocol-Version", revision)) return wrong;
  if (revision != kStatelessRevision) return std::nullopt;
  if (auto wrong = check_one(headers, "Mcp-Method", message.method)) return wrong;
  const std::string_view member = name_member(message.method);
  if (member.empty()) return std::nullopt;
  const std::string name = message.text(std::string(member).c_str());
  if (!name.empty())
    if (auto wrong = check_one(headers, "Mcp-Name", name)) return wrong;
  const auto arguments = message.params().find("arguments");
  if (arguments == message.params().end() || !arguments->is_object()) return std::nullopt;
  for (const MirroredParameter& parameter : mirrored)
    if (auto wrong = check_parameter(headers, *arguments, parameter)) return wrong;
  return std::nullopt;
}

}  // namespace nutshell::mcp
