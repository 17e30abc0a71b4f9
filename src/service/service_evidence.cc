// What the service says about itself and about what was done.
#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <map>

#include "audit/reader.h"
#include "service/service.h"
#include "service/service_parts.h"

namespace nutshell::service {
namespace {

constexpr std::size_t kMostRecords = 1000;
constexpr std::size_t kMostHistory = 10'000;

bool is_command(const audit::Entry& entry) {
  return entry.action == "exec" || entry.action.starts_with("tool ");
}

HistoryEntry begun(const audit::Record& record) {
  HistoryEntry entry;
  entry.audit_id = record.id;
  entry.when = std::chrono::system_clock::time_point(std::chrono::microseconds(record.time_us));
  entry.who = record.entry.who;
  entry.action = record.entry.action;
  entry.what = record.entry.arguments;
  entry.outcome = "unknown";
  return entry;
}

void finish(HistoryEntry& entry, const audit::Record& record) {
  entry.audit_id = record.id;
  entry.outcome = record.entry.outcome;
  entry.duration = std::chrono::duration_cast<std::chrono::milliseconds>(record.entry.duration);
  entry.output_bytes = record.entry.output_bytes;
}

Metric gauge(std::string name, std::string help) {
  return {std::move(name), std::move(help), Metric::Kind::Gauge, {}, {}};
}

void add_pool_metrics(const std::vector<PoolStatus>& pools, MetricsSnapshot& all) {
  Metric pooled = gauge("nutshell_pool_sandboxes", "Sandboxes of each pool, by what they do.");
  Metric taken{"nutshell_pool_acquired_total",
               "Sandboxes acquired, by whether they waited.",
               Metric::Kind::Counter,
               {},
               {}};
  Metric waiters = gauge("nutshell_pool_waiting", "Callers that stand in line for each pool.");
  for (const PoolStatus& pool : pools) {
    waiters.samples.push_back({{{"pool", pool.name}}, double(pool.waiting)});
    pooled.samples.push_back(
        {{{"pool", pool.name}, {"state", "available"}}, double(pool.available)});
    pooled.samples.push_back({{{"pool", pool.name}, {"state", "in_use"}}, double(pool.in_use)});
    pooled.samples.push_back({{{"pool", pool.name}, {"state", "total"}}, double(pool.total)});
    taken.samples.push_back(
        {{{"pool", pool.name}, {"from", "waiting"}}, static_cast<double>(pool.hits)});
    taken.samples.push_back(
        {{{"pool", pool.name}, {"from", "made"}}, static_cast<double>(pool.misses)});
  }
  all.push_back(std::move(pooled));
  all.push_back(std::move(taken));
  all.push_back(std::move(waiters));
}

// For some records more; a disk that is all but full takes a short one and then none.
bool has_room(const std::filesystem::path& directory) {
  constexpr std::uint64_t kEnough = 64U << 10U;
  struct statvfs disk {};
  if (::statvfs(directory.c_str(), &disk) != 0) return false;
  return (disk.f_flag & ST_RDONLY) == 0 && disk.f_bavail * disk.f_frsize >= kEnough;
}

}  // namespace

Result<std::vector<audit::Record>> Service::audit_records(const Caller& caller,
                                                          const audit::Filter& filter) {
  audit::Filter own = filter;
  own.tenant = caller.tenant;
  own.most = std::clamp<std::size_t>(filter.most, 1, kMostRecords);
  return audit::read_records(parts_->operations.directory_of(caller.tenant), own);
}

void Service::deny(const Caller& caller, const std::string& why) {
  parts_->operations.deny(caller, why);
}

// From the record: also of a sandbox that is gone, as far as the record goes back.
Result<std::vector<HistoryEntry>> Service::history(const Caller& caller, const std::string& id) {
  const auto grip = parts_->table.find(caller.tenant, id);
  audit::Filter filter;
  filter.tenant = caller.tenant;
  filter.sandbox = grip ? grip->id : id;
  filter.most = kMostHistory;
  std::map<std::uint64_t, HistoryEntry> entries;  // by the record of the beginning
  TRY(audit::for_each_record(parts_->operations.directory_of(caller.tenant), filter,
                             [&entries](const audit::Record& record) -> Result<audit::Visit> {
                               if (!is_command(record.entry)) return audit::Visit::GoOn;
                               const auto known = entries.find(record.entry.of);
                               if (record.entry.outcome == "begun") {
                                 entries.emplace(record.id, begun(record));
                               } else if (known != entries.end()) {
                                 finish(known->second, record);
                               }
                               return audit::Visit::GoOn;
                             }));
  if (entries.empty() && !grip) return Failure(grip.error());
  std::vector<HistoryEntry> all;
  for (auto& [begun_id, entry] : entries)
    all.push_back(std::move(entry));
  return all;
}

MetricsSnapshot Service::metrics(const Caller& caller) {
  MetricsSnapshot all = parts_->metrics.snapshot();
  Metric sandboxes = gauge("nutshell_sandboxes", "Sandboxes that live, by state.");
  double running = 0;
  double paused = 0;
  double waiting = 0;
  for (const Held& held : parts_->table.all()) {
    const bool is_waiting = held.tenant.empty();
    (is_waiting ? waiting : held.state == SandboxState::Paused ? paused : running) += 1;
  }
  sandboxes.samples = {{{{"state", "running"}}, running},
                       {{{"state", "paused"}}, paused},
                       {{{"state", "pooled"}}, waiting}};
  all.push_back(std::move(sandboxes));
  const bool is_owner = caller.host_files == HostFiles::Allowed;
  const auto own = parts_->pools.status(caller.tenant);
  if (is_owner) {
    add_pool_metrics(parts_->pools.everything(), all);
  } else if (own) {
    add_pool_metrics(*own, all);
  }
  Metric records{"nutshell_audit_records_total",
                 "Records written, since the record began.",
                 Metric::Kind::Counter,
                 {},
                 {}};
  records.samples.push_back({{}, static_cast<double>(parts_->chains->records())});
  all.push_back(std::move(records));
  return all;
}

std::map<std::string, std::string> Service::unanswered_backends() {
  return parts_->sandboxes.unanswered();
}

std::string Service::why_not_ready() {
  bool tries_again = false;
  {
    const std::lock_guard lock(parts_->work_mutex);
    if (parts_->is_draining) return "the daemon is stopping";
    tries_again = Clock::now() >= parts_->next_record_try;
    if (tries_again) parts_->next_record_try = Clock::now() + std::chrono::seconds(1);
  }
  // Nobody asks for work from who is not ready, and so nothing else would find out.
  if (tries_again && !parts_->operations.trouble().empty() &&
      has_room(parts_->operations.directory())) {
    parts_->operations.note({"", "daemon"}, "record", {},
                            {"ok", "it can be written again", {}, {}, {}, 0});
  }
  const std::string trouble = parts_->operations.trouble();
  if (!trouble.empty()) return "the record cannot be written: " + trouble;
  const auto written = parts_->database->run(
      "INSERT INTO meta(name, value) VALUES('ready', '1') ON CONFLICT(name) DO NOTHING");
  return written ? std::string() : written.error().message;
}

}  // namespace nutshell::service
