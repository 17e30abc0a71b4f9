#include "core/check_network.h"

#include "core/text_form.h"

namespace nutshell {

Result<> check_network(const NetworkPolicy& policy) {
  TRY(check_bounds(policy));
  if (policy.tls == TlsMode::Inspect) {
    return failure(ErrorCode::Unsupported,
                   "network.tls inspect: this version does not read inside TLS; leave it out");
  }
  if (!policy.secrets.empty()) {
    return failure(ErrorCode::Unsupported,
                   "network.secrets: this version puts no secrets into requests; leave them out");
  }
  if (!policy.caches.empty()) {
    return failure(ErrorCode::Unsupported,
                   "network.caches: this version keeps no downloads; leave it out");
  }
  return {};
}

}  // namespace nutshell
