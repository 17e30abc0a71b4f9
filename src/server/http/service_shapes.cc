// Shapes of sessions, pools and evidence.
#include "server/http/shapes.h"

namespace nutshell::server {
namespace {

using enum Field::Type;
using enum Field::Presence;

constexpr std::int64_t kMostMs = 10LL * 365 * 24 * 3600 * 1000;

Field amount(std::string name, std::string help = {}) {
  return {.name = std::move(name),
          .type = Integer,
          .help = std::move(help),
          .least = 0,
          .most = kMostMs};
}

const Shape& budget_shape() {
  static const Shape shape{"Budget",
                           {amount("execs", "0: no bound, here and below"),
                            amount("cpu_ms"),
                            amount("wall_ms"),
                            {"output_bytes", Integer}}};
  return shape;
}

const Shape& setup_shape() {
  static const Shape shape{"SetupOutput",
                           {{"argv", TextList}, {"exit_code", Integer}, {"outcome"}, {"output"}}};
  return shape;
}

const Shape& record_shape() {
  static const Shape shape{"AuditRecord",
                           {{"id", Integer, "", Required},
                            {"time_us", Integer, "since 1970"},
                            {"tenant"},
                            {"who"},
                            {"action"},
                            {"sandbox"},
                            {"session"},
                            {"outcome"},
                            {"of", Integer, "the record of its beginning"},
                            {"arguments", Any, "", Nullable},
                            {"input_sha256"},
                            {"output_sha256"},
                            {"error_sha256"},
                            {"output_bytes", Integer},
                            {"duration_ms", Number},
                            {"detail"},
                            {"previous"},
                            {"hash"}}};
  return shape;
}

const Shape& history_entry_shape() {
  static const Shape shape{"HistoryEntry",
                           {{"audit_id", Integer},
                            {"time_ms", Integer},
                            {"who"},
                            {"action"},
                            {"what"},
                            {"outcome"},
                            {"duration_ms", Integer},
                            {"output_bytes", Integer}}};
  return shape;
}

}  // namespace

const Shape& session_request_shape() {
  static const Shape shape{
      "SessionRequest",
      {{"name", Text, "letters, digits, ._-", Required},
       {"spec", Object, "of its sandbox", Optional, spec_shape},
       {"setup", TextLists, "commands that are run once in each of its lives"},
       {"budget", Object, "", Optional, budget_shape},
       amount("lease_ms", "it ends when nobody renews it for so long; 0: no lease"),
       amount("pause_after_ms", "it is paused when nobody uses it for so long; 0: never"),
       {"keeps_workspace", Boolean,
        "the files of /workspace are kept when its sandbox ends in order, for its next life and "
        "for "
        "the next session of this name"},
       {"labels", TextMap}}};
  return shape;
}

const Shape& session_shape() {
  static const Shape shape{"Session",
                           {{"name", Text, "", Required},
                            {"sandbox_id", Text},
                            {"life", Integer, "more than 1: earlier sandboxes of it were lost"},
                            {"lost", Text, "what was lost, told once", Nullable},
                            {"was_created", Boolean},
                            {"keeps_workspace", Boolean},
                            {"setup", ObjectList, "", Optional, setup_shape},
                            {"budget", Object, "", Optional, budget_shape},
                            {"usage", Object},
                            {"lease_left_ms", Integer},
                            {"labels", TextMap},
                            {"created_ms", Integer, "since 1970"}}};
  return shape;
}

const Shape& session_page_shape() {
  static const Shape shape{
      "SessionPage",
      {{"sessions", ObjectList, "", Required, session_shape}, {"next_cursor", Text, "", Nullable}}};
  return shape;
}

const Shape& lease_shape() {
  static const Shape shape{
      "Lease",
      {{.name = "lease_ms", .type = Integer, .presence = Required, .least = 1, .most = kMostMs}}};
  return shape;
}

const Shape& acquire_shape() {
  constexpr std::int64_t kMostWaitMs = 600'000;
  static const Shape shape{"Acquire",
                           {{"labels", TextMap},
                            amount("ttl_ms"),
                            amount("idle_timeout_ms"),
                            {"environment", TextMap},
                            {"workspace", Text},
                            {"network", Text, "what it may reach: none"},
                            {.name = "wait_ms",
                             .type = Integer,
                             .help = "how long to stand in line while all of the pool is taken; 0: "
                                     "not at all; 10000 unless told",
                             .least = 0,
                             .most = kMostWaitMs},
                            {"limits", Object, "", Optional, limits_shape}}};
  return shape;
}

const Shape& pool_shape() {
  static const Shape shape{"Pool",
                           {{"name", Text, "", Required},
                            amount("total"),
                            amount("available"),
                            amount("in_use"),
                            amount("waiting"),
                            amount("min_idle"),
                            amount("max_idle"),
                            amount("max_total"),
                            amount("hits"),
                            amount("misses"),
                            {"trouble", Text, "why the last refill failed", Nullable}}};
  return shape;
}

const Shape& pools_shape() {
  static const Shape shape{"Pools", {{"pools", ObjectList, "", Required, pool_shape}}};
  return shape;
}

const Shape& audit_page_shape() {
  static const Shape shape{
      "AuditPage",
      {{"records", ObjectList, "", Required, record_shape}, {"next_cursor", Text, "", Nullable}}};
  return shape;
}

const Shape& history_shape() {
  static const Shape shape{"History", {{"entries", ObjectList, "", Required, history_entry_shape}}};
  return shape;
}

}  // namespace nutshell::server
