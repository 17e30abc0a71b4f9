// Shapes of sessions, pools and evidence.
#include "core/audit_entry.h"
#include "core/pool.h"
#include "core/session.h"
#include "server/http/shapes.h"

namespace nutshell::server {
namespace {

using enum Field::Type;
using enum Field::Presence;

constexpr std::int64_t kMostMs = 10 * kYearMs;

Field amount(std::string name, std::string help = {}) {
  return {.name = std::move(name),
          .type = Integer,
          .help = std::move(help),
          .least = 0,
          .most = kMostMs};
}

const Shape& history_entry_shape() {
  static const Shape kShape{"HistoryEntry",
                            {{"audit_id", Integer},
                             {"time_ms", Integer},
                             {"who"},
                             {"action"},
                             {"what"},
                             {"outcome"},
                             {"duration_ms", Integer},
                             {"output_bytes", Integer}}};
  return kShape;
}

}  // namespace

const Shape& session_page_shape() {
  static const Shape kShape{
      "SessionPage",
      {{"sessions", ObjectList, "", Required, shape_of<Session, Direction::Given>},
       {"next_cursor", Text, "", Nullable}}};
  return kShape;
}

const Shape& lease_shape() {
  static const Shape kShape{
      "Lease",
      {{.name = "lease_ms", .type = Integer, .presence = Required, .least = 1, .most = kMostMs}}};
  return kShape;
}

const Shape& acquire_shape() {
  constexpr std::int64_t kMostWaitMs = 600'000;
  static const Shape kShape{
      "Acquire",
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
       {"limits", Object, "", Optional, shape_of<Limits, Direction::Taken>}}};
  return kShape;
}

const Shape& pools_shape() {
  static const Shape kShape{
      "Pools", {{"pools", ObjectList, "", Required, shape_of<PoolStatus, Direction::Given>}}};
  return kShape;
}

const Shape& audit_page_shape() {
  static const Shape kShape{
      "AuditPage",
      {{"records", ObjectList, "", Required, shape_of<AuditRecord, Direction::Given>},
       {"next_cursor", Text, "", Nullable}}};
  return kShape;
}

const Shape& history_shape() {
  static const Shape kShape{"History",
                            {{"entries", ObjectList, "", Required, history_entry_shape}}};
  return kShape;
}

}  // namespace nutshell::server
