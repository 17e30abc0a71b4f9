#include "service/sandboxes/spec_text.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "core/json_form.h"
#include "core/json_text.h"

namespace nutshell::service {
namespace {

using Json = nlohmann::json;

template <typename T, typename Build>
Result<T> decode(const std::string& text, Build build) {
  try {
    return build(Json::parse(text));
  } catch (const Json::exception& problem) {
    return failure(ErrorCode::Corrupt, std::string("state file: ") + problem.what());
  }
}

}  // namespace

std::string encode_labels(const std::map<std::string, std::string>& labels) {
  return dump_json(Json(labels));
}

Result<std::map<std::string, std::string>> decode_labels(const std::string& text) {
  using Labels = std::map<std::string, std::string>;
  return decode<Labels>(text, [](const Json& json) { return json.get<Labels>(); });
}

std::string encode_setup(const std::vector<SetupOutput>& outputs) {
  auto list = nlohmann::ordered_json::array();
  for (const SetupOutput& output : outputs)
    list.push_back(to_json(output, Written::Kept));
  return dump_json(list);
}

Result<std::vector<SetupOutput>> decode_setup(const std::string& text) {
  const auto list = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!list.is_array()) return failure(ErrorCode::Corrupt, "state file: the setup is no list");
  std::vector<SetupOutput> outputs;
  for (const auto& item : list)
    TRY(read_json(item, outputs.emplace_back()));
  return outputs;
}

std::string hash_of_spec(const SandboxSpec& spec) {
  return sha256_hex(to_json_text(spec, Written::Kept));
}

}  // namespace nutshell::service
