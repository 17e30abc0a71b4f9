#include "service/health.h"

#include <sys/statvfs.h>

namespace nutshell::service {
namespace {

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

// Whether the disk has room for several records: an almost full one takes one short record more.
bool has_room(const std::filesystem::path& directory) {
  constexpr std::uint64_t kEnough = 64U << 10U;
  struct statvfs disk {};
  if (::statvfs(directory.c_str(), &disk) != 0) return false;
  return (disk.f_flag & ST_RDONLY) == 0 && disk.f_bavail * disk.f_frsize >= kEnough;
}

}  // namespace

MetricsSnapshot Health::metrics(const Caller& caller) {
  MetricsSnapshot all = uses_.metrics.snapshot();
  Metric sandboxes = gauge("nutshell_sandboxes", "Sandboxes that live, by state.");
  double running = 0;
  double paused = 0;
  double waiting = 0;
  for (const SandboxEntry& entry : uses_.table.all()) {
    const bool is_waiting = entry.tenant.empty();
    (is_waiting ? waiting : entry.state == SandboxState::Paused ? paused : running) += 1;
  }
  sandboxes.samples = {{{{"state", "running"}}, running},
                       {{{"state", "paused"}}, paused},
                       {{{"state", "pooled"}}, waiting}};
  all.push_back(std::move(sandboxes));
  const bool is_owner = caller.host_files == HostFiles::Allowed;
  add_pool_metrics(is_owner ? uses_.pools.all() : uses_.pools.status(caller), all);
  Metric records{"nutshell_audit_records_total",
                 "Records written, since the record began.",
                 Metric::Kind::Counter,
                 {},
                 {}};
  records.samples.push_back({{}, static_cast<double>(uses_.chains.records())});
  all.push_back(std::move(records));
  return all;
}

std::map<std::string, std::string> Health::unanswered_backends() {
  return uses_.reconciler.unanswered();
}

std::string Health::why_not_ready() {
  if (uses_.gate.is_draining()) return "the daemon is stopping";
  bool tries_again = false;
  {
    const std::lock_guard lock(mutex_);
    tries_again = Clock::now() >= next_record_try_;
    if (tries_again) next_record_try_ = Clock::now() + std::chrono::seconds(1);
  }
  // Clients send no work to a service that is not ready, so nothing else would find out that the
  // record can be written again.
  if (tries_again && !uses_.operations.trouble().empty() &&
      has_room(uses_.operations.directory())) {
    uses_.operations.note({"", "daemon"}, "record", {},
                          {"ok", "it can be written again", {}, {}, {}, 0});
  }
  const std::string trouble = uses_.operations.trouble();
  if (!trouble.empty()) return "the record cannot be written: " + trouble;
  const auto written = uses_.database.run(
      "INSERT INTO meta(name, value) VALUES('ready', '1') ON CONFLICT(name) DO NOTHING");
  return written ? std::string() : written.error().message;
}

}  // namespace nutshell::service
