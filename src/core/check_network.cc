#include "core/check_network.h"

#include "core/text_form.h"

namespace nutshell {
namespace {

// Refuses inspection and secrets that would do nothing, because the host reads no connection.
Result<> check_inspection(const NetworkPolicy& policy) {
  const bool is_inspecting = policy.tls == TlsMode::Inspect;
  if (!policy.secrets.empty() && !is_inspecting) {
    return failure(ErrorCode::InvalidArgument,
                   "network.secrets: the host cannot put secrets into requests that it does not "
                   "read: add --inspect (tls: inspect)");
  }
  if (!policy.caches.empty() && !is_inspecting) {
    return failure(ErrorCode::InvalidArgument,
                   "network.caches: the host cannot keep downloads that it does not read: add "
                   "--inspect (tls: inspect)");
  }
  if (!is_inspecting || mode_of(policy) == NetworkMode::Allowed) return {};
  return failure(ErrorCode::InvalidArgument,
                 "network.tls inspect: only requests to names that rules allow are read: add "
                 "--allow HOST, without --network");
}

}  // namespace

Result<> check_network(const NetworkPolicy& policy) {
  TRY(check_bounds(policy));
  TRY(check_inspection(policy));
  return {};
}

}  // namespace nutshell
