#include "backends/docker/container/container_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/docker/engine/engine_json.h"
#include "core/sandbox_id.h"
#include "http/message.h"

namespace nutshell::docker {
namespace {

// Labels may come from an image. The name is chosen by the process that makes the container, so
// both have to agree.
bool has_name(const Json& container, const std::string& wanted) {
  const Json* names = member(container, "Names");
  return names != nullptr && names->is_array() &&
         std::any_of(names->begin(), names->end(), [&wanted](const Json& name) {
           return name == wanted || name == "/" + wanted;
         });
}

}  // namespace

Result<std::vector<FoundContainer>> find_containers(EngineClient& engine, char id_letter) {
  const std::string scope = TRY(scope_of_this_user());
  const Json filters = {{"label", {fmt::format("{}={}", kScopeLabel, scope)}}};
  const auto answer = TRY(engine.call({.path = fmt::format("/containers/json?all=1&filters={}",
                                                           http::percent_encode(filters.dump()))}));
  const Json containers = TRY(parse_json(answer.body));
  if (!containers.is_array())
    return failure(ErrorCode::Corrupt, "the engine's list of containers is not a list");
  std::vector<FoundContainer> all;
  for (const Json& container : containers) {
    auto remembered = from_labels(texts_by_name(container, "Labels"));
    if (!remembered || remembered->scope != scope || !is_sandbox_id(remembered->id) ||
        remembered->id.front() != id_letter || !has_name(container, container_name(remembered->id)))
      continue;
    all.push_back({std::move(*remembered), text_of(container, "State"),
                   std::chrono::seconds(number_of(container, "Created"))});
  }
  return all;
}

}  // namespace nutshell::docker
