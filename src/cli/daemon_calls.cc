#include "cli/daemon_calls.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/byte_size.h"
#include "core/json_form.h"
#include "images/image_root.h"

namespace nutshell::cli {

Result<int> with_daemon(Program& program, const std::function<Result<int>(api::ApiClient&)>& use) {
  const BackendContext& context = program.runtime.context();
  if (!context.daemon) {
    return failure(ErrorCode::Unavailable,
                   "this is the daemon's, and none runs here: 'nutshell daemon start' is one, "
                   "--daemon names another");
  }
  api::ApiClient daemon(*context.daemon);
  try {
    return use(daemon);
  } catch (const Json::exception& problem) {
    return failure(ErrorCode::Corrupt, fmt::format("the daemon's answer: {}", problem.what()));
  }
}

Json spec_json(SandboxSpec spec) {
  spec.image = images::seen_from_anywhere(spec.image);
  return to_json(spec, Written::Request);
}

Result<std::int64_t> milliseconds_of(const std::string& text, std::string_view flag) {
  auto time = parse_duration(text);
  if (!time) return while_doing(fmt::format("--{}", flag), std::move(time).error());
  return std::int64_t{time->count()};
}

}  // namespace nutshell::cli
