#include "core/noun_catalogue.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/audit_entry.h"
#include "core/exec.h"
#include "core/network_report.h"
#include "core/pool.h"
#include "core/sandbox_stats.h"
#include "core/sandbox_status.h"
#include "core/session.h"

namespace nutshell {
namespace {

using Json = nlohmann::ordered_json;

template <Noun T>
NounDescription description_of() {
  return {T::kNoun, shape_of<T, Direction::Taken>(), shape_of<T, Direction::Given>()};
}

// Nouns that callers send are described with their read-only fields, too.
std::vector<Field> fields_of(const NounDescription& noun) {
  if (noun.info.direction == Direction::Given) return noun.given.fields;
  std::vector<Field> all = noun.taken.fields;
  for (const Field& field : noun.given.fields) {
    if (noun.taken.find(field.name) == nullptr) all.push_back(field);
  }
  return all;
}

Json json_of(const Field& field, Direction direction) {
  Json object = {{"number", field.number}, {"name", field.name}, {"type", word_for(field.type)}};
  if (field.of) object["noun"] = field.of().name;
  if (field.presence == Field::Presence::Required) object["required"] = true;
  if (field.presence == Field::Presence::Nullable) object["nullable"] = true;
  if (field.least != Field::kNoBound) object["least"] = field.least;
  if (field.most != Field::kNoBound) object["most"] = field.most;
  if (!field.choices.empty()) object["words"] = field.choices;
  if (field.is_secret) object["secret"] = true;
  object["set_by"] = word_for(direction == Direction::Given ? SetBy::Nobody : field.set_by);
  if (!field.flag.empty()) object["flag"] = field.flag;
  object["help"] = field.help;
  return object;
}

std::string proto_type(const Field& field) {
  switch (field.type) {
    case Field::Type::Text:
      return field.is_bytes ? "optional bytes" : "optional string";
    case Field::Type::Integer:
      return "optional int64";
    case Field::Type::Number:
      return "optional double";
    case Field::Type::Boolean:
      return "optional bool";
    case Field::Type::TextList:
      return "repeated string";
    case Field::Type::TextLists:
      return "repeated CommandLine";
    case Field::Type::TextMap:
      return "map<string, string>";
    case Field::Type::Object:
      return field.of().name;
    case Field::Type::ObjectList:
      return "repeated " + field.of().name;
    case Field::Type::Any:
      return "google.protobuf.Value";
  }
  return "string";
}

std::string proto_fields(const NounDescription& noun) {
  std::string text;
  for (const Field& field : fields_of(noun)) {
    if (field.number == 0) continue;  // the proto has bytes, and needs no second form in base64
    std::string help = field.help;
    if (!field.choices.empty())
      help += fmt::format("{}{}", help.empty() ? "" : ": ", fmt::join(field.choices, ", "));
    if (!help.empty()) text += fmt::format("  // {}\n", help);
    text += fmt::format("  {} {} = {};\n", proto_type(field), field.name, field.number);
  }
  return text;
}

}  // namespace

const std::vector<NounDescription>& all_nouns() {
  static const std::vector<NounDescription> kAll = {
      description_of<Limits>(),        description_of<UnsafeMount>(),
      description_of<Mount>(),         description_of<NetworkSecret>(),
      description_of<NetworkPolicy>(), description_of<NetworkEvent>(),
      description_of<NetworkStatus>(), description_of<SandboxSpec>(),
      description_of<Protection>(),    description_of<SandboxStatus>(),
      description_of<SandboxStats>(),  description_of<ExecRequest>(),
      description_of<ExecResult>(),    description_of<Budget>(),
      description_of<Usage>(),         description_of<SessionRequest>(),
      description_of<SetupOutput>(),   description_of<Session>(),
      description_of<PoolStatus>(),    description_of<AuditRecord>()};
  return kAll;
}

std::string schema_text() {
  Json nouns = Json::array();
  for (const NounDescription& noun : all_nouns()) {
    Json fields = Json::array();
    for (const Field& field : fields_of(noun))
      fields.push_back(json_of(field, noun.info.direction));
    nouns.push_back({{"name", noun.info.name}, {"help", noun.info.help}, {"fields", fields}});
  }
  return Json{{"nouns", nouns}}.dump(2) + "\n";
}

Result<std::string> fill_proto(std::string_view proto) {
  std::string filled;
  while (!proto.empty()) {
    const std::string_view line = proto.substr(0, std::min(proto.find('\n'), proto.size()));
    proto.remove_prefix(std::min(line.size() + 1, proto.size()));
    const std::size_t from = line.find('@');
    if (from == std::string_view::npos || !line.ends_with('@')) {
      filled += std::string(line) + '\n';
      continue;
    }
    const std::string_view name = line.substr(from + 1, line.size() - from - 2);
    const NounDescription* found = nullptr;
    for (const NounDescription& noun : all_nouns()) {
      if (noun.info.name == name) found = &noun;
    }
    if (found == nullptr)
      return failure(ErrorCode::NotFound, fmt::format("the proto names no noun: {}", line));
    filled += proto_fields(*found);
  }
  return filled;
}

}  // namespace nutshell
