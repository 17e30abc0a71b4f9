// Images as whoever counts them sees them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/docker/docker_backend.h"
#include "backends/docker/engine_json.h"
#include "backends/docker/image_source.h"

namespace nutshell::docker {

Result<std::optional<std::uint64_t>> DockerBackend::image_bytes(const std::string& image) {
  using Bytes = std::optional<std::uint64_t>;
  TRY(check_image_name(image));
  const auto answer = TRY(engine())->call({.path = fmt::format("/images/{}/json", image)});
  if (!answer && answer.error().code == ErrorCode::NotFound) return Bytes();
  if (!answer) return Failure(answer.error());
  const Json document = TRY(parse_json(answer->body));
  return Bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(number_of(document, "Size"), 0)));
}

Result<> DockerBackend::fetch_image(const std::string& image) {
  TRY(check_image_name(image));
  TRY(engine());
  TRY(image_for(image));
  return {};
}

Result<> DockerBackend::remove_image(const std::string& image) {
  TRY(check_image_name(image));
  const auto answer =
      TRY(engine())->call({.method = "DELETE", .path = fmt::format("/images/{}", image)});
  if (!answer && answer.error().code != ErrorCode::NotFound) return Failure(answer.error());
  return {};
}

}  // namespace nutshell::docker
