#include "backends/docker/images/engine_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/docker/engine/engine_json.h"
#include "backends/docker/images/image_transfer.h"

namespace nutshell::docker {

PullVisitor EngineImages::progress_of(const std::string& name) const {
  if (!show_) return nullptr;
  return [this, name](const PullProgress& progress) {
    constexpr double kMegabyte = 1e6;
    show_(fmt::format("pulling {}: {} of {} layers, {:.1f} of {:.1f} MB", name,
                      progress.layers_done, progress.layers,
                      static_cast<double>(progress.bytes) / kMegabyte,
                      static_cast<double>(progress.bytes_total) / kMegabyte));
  };
}

Result<ImageFacts> EngineImages::ensure(const std::string& name, PullAccount account) {
  EngineClient& client = *TRY(engine_.reach());
  auto found = inspect_image(client, name);
  if (found || found.error().code != ErrorCode::NotFound) return found;
  auto stored = load_stored_image(client, name, show_);
  if (stored || stored.error().code != ErrorCode::NotFound) return stored;
  std::string login;
  if (account == PullAccount::OfUser) login = TRY(registry_login(name, variable_of_process));
  auto pulled = pull_image(client, name, login, progress_of(name));
  if (show_) show_("");
  if (pulled) return inspect_image(client, name);
  Error error = std::move(pulled).error();
  if (error.code == ErrorCode::PermissionDenied) {
    error.message += account == PullAccount::OfUser
                         ? "; the account is taken from Docker's configuration: 'docker login' "
                           "writes it"
                         : "; for a tenant it is pulled without an account: the operator can pull "
                           "it first";
  }
  return Failure(std::move(error));
}

Result<std::optional<std::uint64_t>> EngineImages::bytes(const std::string& name) {
  using Bytes = std::optional<std::uint64_t>;
  TRY(check_image_name(name));
  const auto answer = TRY(engine_.reach())->call({.path = fmt::format("/images/{}/json", name)});
  if (!answer && answer.error().code == ErrorCode::NotFound) return Bytes();
  if (!answer) return Failure(answer.error());
  const Json document = TRY(parse_json(answer->body));
  return Bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(number_of(document, "Size"), 0)));
}

Result<> EngineImages::remove(const std::string& name) {
  TRY(check_image_name(name));
  const auto answer =
      TRY(engine_.reach())->call({.method = "DELETE", .path = fmt::format("/images/{}", name)});
  if (!answer && answer.error().code != ErrorCode::NotFound) return Failure(answer.error());
  return {};
}

}  // namespace nutshell::docker
