#include "server/mcp/request_meta.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "server/mcp/running_call.h"

namespace nutshell::mcp {
namespace {

constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* kLogLevelKey = "io.modelcontextprotocol/logLevel";

const Json* meta_of(const Message& message) {
  const auto found = message.params().find("_meta");
  return found != message.params().end() && found->is_object() ? &*found : nullptr;
}

const Json* member_of(const Json* object, std::string_view name) {
  if (object == nullptr) return nullptr;
  const auto found = object->find(std::string(name));
  return found != object->end() ? &*found : nullptr;
}

}  // namespace

bool names_revision(const Message& message) {
  return member_of(meta_of(message), kRevisionKey) != nullptr;
}

std::string named_revision(const Message& message) {
  const Json* revision = member_of(meta_of(message), kRevisionKey);
  return revision != nullptr && revision->is_string() ? revision->get<std::string>() : "";
}

std::variant<RequestMeta, Problem> read_meta(const Message& message) {
  const Json* meta = meta_of(message);
  RequestMeta read;
  read.revision = named_revision(message);
  if (read.revision.empty())
    return Problem{kInvalidParams, fmt::format("_meta[\"{}\"] is missing", kRevisionKey)};
  if (read.revision != kStatelessRevision) {
    return Problem{kUnsupportedVersion, "Unsupported protocol version",
                   fmt::format(R"({{"supported":["{}"],"requested":{}}})", kStatelessRevision,
                               json_string(read.revision.substr(0, 100)))};
  }
  const Json* capabilities = member_of(meta, kCapabilitiesKey);
  if (capabilities == nullptr || !capabilities->is_object())
    return Problem{kInvalidParams, fmt::format("_meta[\"{}\"] is missing", kCapabilitiesKey)};
  read.capabilities = dump_json(*capabilities);
  if (const Json* level = member_of(meta, kLogLevelKey); level != nullptr) {
    if (level->is_string()) read.log_level = parse_log_level(level->get_ref<const std::string&>());
    if (!read.log_level)
      return Problem{kInvalidParams, fmt::format("_meta[\"{}\"] is no log level", kLogLevelKey)};
  }
  return read;
}

}  // namespace nutshell::mcp
