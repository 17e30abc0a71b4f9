// Answers of package registries, kept on the host for the next time. Requests that can be kept are
// sent with few headers only, so that no sandbox has a say in what another one gets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "egress/cache/package_store.h"
#include "egress/cache/registries.h"
#include "egress/inspect/answer_filter.h"
#include "egress/inspect/flow_guard.h"
#include "egress/inspect/gate_request.h"
#include "egress/inspect/inspect.h"
#include "http/transport.h"

namespace nutshell::egress {

class CachedAnswer : public AnswerFilter {
 public:
  // nullopt if answers to this request are not kept. Otherwise `request` is now the one to send.
  static std::optional<CachedAnswer> begin(const CacheSettings& settings, GateRequest& request);

  [[nodiscard]] bool is_stored() const { return stored_.has_value(); }
  // Whether it may be given without a question to the server.
  [[nodiscard]] bool is_current() const;
  // Gives the stored answer to the client.
  Result<> give(http::Transport& client, const GateRequest& request, FlowGuard& guard,
                const InspectTimes& times);

  Result<> take_head(http::ResponseHead& head, std::string& reason) override;
  [[nodiscard]] bool takes_over() const override { return takes_over_; }
  [[nodiscard]] bool changes_length() const override { return false; }
  std::string take_part(std::string_view bytes) override;
  std::string take_end() override;

 private:
  CachedAnswer(const PackageStore& store, PackageFile kind) : store_(&store), kind_(kind) {}

  const PackageStore* store_;
  PackageFile kind_;
  std::string key_;
  bool has_to_ask_ = false;  // the client wants no answer that was only kept
  std::string client_has_;   // the ETag of what the client has already
  std::optional<StoredAnswer> stored_;
  std::optional<PackageStore::Writer> writer_;
  http::Headers kept_headers_;
  bool takes_over_ = false;
};

}  // namespace nutshell::egress
