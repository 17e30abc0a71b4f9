#include "service/sandboxes/reconciler.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <set>

#include "audit/redactor.h"
#include "base/file.h"
#include "service/model/moments.h"

namespace nutshell::service {
namespace {

std::string label_of(const SandboxStatus& status, const char* name) {
  const auto found = status.spec.labels.find(name);
  return found != status.spec.labels.end() ? found->second : std::string();
}

void remove_own_labels(SandboxSpec& spec) {
  std::erase_if(spec.labels,
                [](const auto& label) { return label.first.starts_with("nutshell."); });
}

// Fills in what the state file knows better than a backend.
void fill_from(const SandboxRow& row, SandboxEntry& entry) {
  entry.op = row.op;
  entry.tenant = row.tenant;
  entry.spec.labels = row.labels;
  entry.spec.ttl = milliseconds(row.ttl_ms);
  entry.spec.idle_timeout = milliseconds(row.idle_ms);
  entry.session = row.session;
  entry.pool = row.pool;
  entry.pool_spec = row.pool_spec;
  entry.created = std::chrono::system_clock::time_point(milliseconds(row.created_ms));
  entry.deadline = from_ms(row.deadline_ms);
  if (row.left_ms >= 0) entry.left = milliseconds(row.left_ms);
}

}  // namespace

SandboxEntry Reconciler::entry_of(const SandboxStatus& status) {
  SandboxEntry entry;
  entry.id = status.id;
  entry.spec = status.spec;
  remove_own_labels(entry.spec);
  entry.protections = status.protections;
  entry.why_copied = status.why_copied;
  entry.state = status.state;
  entry.started = Clock::now() - status.age;
  entry.created = std::chrono::system_clock::now() - status.age;
  entry.deadline = Clock::now() + status.time_left;
  entry.left = status.time_left;
  const auto backend = uses_.runtime.backend(status.spec.backend);
  const auto environment = backend ? (*backend)->environment_of(status.id)
                                   : Result<std::vector<std::string>>(Failure(backend.error()));
  // Without an environment, of a sandbox that has ended or of this backend, there are no secrets to
  // hide.
  if (environment) {
    entry.secrets = audit::Redactor(uses_.options.audit.secret_names).secrets_of(*environment);
  }
  return entry;
}

void Reconciler::adopt_row(const SandboxRow& row, const SandboxStatus& status) {
  SandboxEntry entry = entry_of(status);
  fill_from(row, entry);
  // The daemon died between pausing and noting it, or the reverse: the rest of the ttl stays the
  // same.
  if (row.left_ms < 0 && entry.state == SandboxState::Paused) entry.left = until(entry.deadline);
  if (row.left_ms >= 0 && entry.state == SandboxState::Running)
    entry.deadline = Clock::now() + entry.left;
  entry.resumes_on_use = !row.session.empty() && entry.state == SandboxState::Paused;
  entry.is_deadline_new = true;
  uses_.table.adopt(std::move(entry));
}

// Returns what was done, as a line for the log; empty if there is nothing to report.
Result<std::string> Reconciler::settle_row(const SandboxRow& row, const SandboxStatus* status) {
  if (status != nullptr && row.stage == kAlive) {
    adopt_row(row, *status);
    return std::string();
  }
  if (status != nullptr) TRY(uses_.sandboxes.stop(status->spec.backend, status->id));
  TRY(store_.remove(row.op));
  if (status == nullptr && row.stage == kAlive) {
    (void)uses_.table.remove(row.id);  // an entry of keep_unseen(), if there is one
    SandboxEntry entry;
    entry.id = row.id;
    entry.tenant = row.tenant;
    entry.session = row.session;
    on_end_(entry, "it was gone when the daemon started");
    return fmt::format("sandbox {} is gone", row.id);
  }
  if (status == nullptr) return std::string();
  if (row.stage == kEnding) return fmt::format("sandbox {} was being ended: done", status->id);
  return fmt::format("sandbox {} was ended: the caller that was making it is gone", status->id);
}

bool Reconciler::is_of_another(const SandboxStatus& status) const {
  const std::string owner = label_of(status, kOwnerLabel);
  return !owner.empty() && owner != owner_of(uses_.options.state_directory);
}

void Reconciler::adopt_foreign(const SandboxStatus& status) {
  SandboxEntry entry = entry_of(status);
  const std::string tenant = label_of(status, kTenantLabel);
  entry.tenant = tenant.empty() ? uses_.rules.get()->local_tenant : tenant;
  uses_.table.adopt(std::move(entry));
}

Result<bool> Reconciler::is_same_boot() {
  const std::string now = TRY(read_file("/proc/sys/kernel/random/boot_id", 256));
  std::string before;
  TRY(uses_.database.query("SELECT value FROM meta WHERE name='boot'", {},
                           [&before](const Row& row) { before = row.text(0); }));
  TRY(
      uses_.database.run("INSERT INTO meta(name, value) VALUES('boot', ?) "
                         "ON CONFLICT(name) DO UPDATE SET value=excluded.value",
                         {now}));
  return before.empty() || before == now;
}

Result<Reconciler::Lines> Reconciler::settle(std::vector<SandboxRow> rows,
                                             const std::vector<SandboxStatus>& statuses) {
  Lines said;
  std::set<std::string> settled;
  for (SandboxRow& row : rows) {
    const SandboxStatus* found = nullptr;
    for (const SandboxStatus& status : statuses) {
      const bool is_it =
          row.id.empty() ? label_of(status, kOperationLabel) == row.op : status.id == row.id;
      if (is_it) found = &status;
    }
    if (found != nullptr) settled.insert(found->id);
    if (found != nullptr && !label_of(*found, kStreamLabel).empty()) row.stage = kEnding;
    std::string what = TRY(settle_row(row, found));
    if (!what.empty()) said.push_back(std::move(what));
  }
  Lines more = TRY(settle_unknown(statuses, settled));
  std::move(more.begin(), more.end(), std::back_inserter(said));
  return said;
}

Result<Reconciler::Lines> Reconciler::settle_unknown(const std::vector<SandboxStatus>& statuses,
                                                     const std::set<std::string>& known) {
  Lines said;
  for (const SandboxStatus& status : statuses) {
    if (known.contains(status.id) || is_of_another(status)) continue;
    const bool is_pools =
        !label_of(status, kPoolLabel).empty() && label_of(status, kTenantLabel).empty();
    if (!is_pools) {
      adopt_foreign(status);
      said.push_back(
          fmt::format("sandbox {} was made without this state file: adopted", status.id));
      continue;
    }
    // It may have been used, so it must not be handed out.
    TRY(uses_.sandboxes.stop(status.spec.backend, status.id));
    said.push_back(fmt::format("sandbox {} of a pool is not in the state file: ended", status.id));
  }
  return said;
}

void Reconciler::keep_unseen(const std::string& backend, const Error& why,
                             std::vector<SandboxRow> rows) {
  for (const SandboxRow& row : rows) {
    if (row.stage != kAlive) continue;
    SandboxEntry entry;
    entry.id = row.id;
    entry.spec.backend = backend;
    entry.is_unseen = true;
    fill_from(row, entry);
    uses_.table.adopt(std::move(entry));
  }
  unanswered_.with([&](auto& all) { all[backend] = {why.message, std::move(rows)}; });
}

// Handles the first answer of a backend that gave none at the start.
void Reconciler::settle_late(const std::string& backend,
                             const std::vector<SandboxStatus>& statuses) {
  auto late = unanswered_.with([&backend](auto& all) { return all.extract(backend); });
  if (late.empty()) return;
  // Leaves out sandboxes that are being made now, which have a row already.
  std::vector<SandboxStatus> earlier;
  const auto rows = store_.all();
  for (const SandboxStatus& status : statuses) {
    const std::string op = label_of(status, kOperationLabel);
    const auto& old = late.mapped().rows;
    const auto has_op = [&op](const SandboxRow& row) { return row.op == op; };
    const bool is_old = std::any_of(old.begin(), old.end(), has_op);
    const bool is_new = !rows || std::any_of(rows->begin(), rows->end(), has_op);
    if (is_old || !is_new) earlier.push_back(status);
  }
  const auto said = settle(late.mapped().rows, earlier);
  uses_.options.notice(fmt::format("backend {} answers", backend));
  for (const std::string& what : said.value_or(Lines()))
    uses_.options.notice(what);
  if (said) return;
  const std::string& why = said.error().message;
  uses_.options.notice(fmt::format("backend {}: {}", backend, why));
  unanswered_.with([&](auto& all) { all[backend] = {why, std::move(late.mapped().rows)}; });
}

std::map<std::string, std::string> Reconciler::unanswered() {
  return unanswered_.with([](const auto& all) {
    std::map<std::string, std::string> reasons;
    for (const auto& [backend, one] : all)
      reasons[backend] = one.why;
    return reasons;
  });
}

Result<std::vector<std::string>> Reconciler::adopt() {
  using Listed = Result<std::vector<SandboxStatus>>;
  const bool is_same = TRY(is_same_boot());
  std::map<std::string, std::future<Listed>>
      lists;  // in parallel, because each may wait for an answer
  for (const BackendEntry& entry : backend_registry())
    lists[entry.name] =
        std::async(std::launch::async, [&, this] { return uses_.runtime.list_of(entry.name); });
  std::map<std::string, std::vector<SandboxRow>> rows;
  for (SandboxRow& row : TRY(store_.all())) {
    // The monotonic clock started again at boot, so the ttl begins again.
    if (!is_same) row.deadline_ms = to_ms(Clock::now() + milliseconds(row.ttl_ms));
    if (row.backend.empty()) row.backend = backend_registry().front().name;
    rows[row.backend].push_back(std::move(row));
  }
  Lines said;
  for (auto& [backend, listed] : lists) {
    const Listed statuses = listed.get();
    if (!statuses) {
      said.push_back(fmt::format("backend {} does not answer: {}; its {} sandboxes wait for it",
                                 backend, statuses.error().message, rows[backend].size()));
      keep_unseen(backend, statuses.error(), std::exchange(rows[backend], {}));
      continue;
    }
    Lines more = TRY(settle(std::exchange(rows[backend], {}), *statuses));
    std::move(more.begin(), more.end(), std::back_inserter(said));
  }
  // The other rows are of backends that this build does not have.
  for (auto& [backend, left] : rows)
    TRY(settle(std::exchange(left, {}), {}));
  return said;
}

void Reconciler::reconcile(const std::string& backend) {
  const auto asked = Clock::now();
  const auto statuses = uses_.runtime.list_of(backend);
  if (!statuses) return;  // an unanswered question says nothing about sandboxes
  settle_late(backend, *statuses);
  std::set<std::string> living;
  std::vector<const SandboxStatus*> unknown;
  for (const SandboxStatus& status : *statuses) {
    living.insert(status.id);
    const bool is_ours = !label_of(status, kOperationLabel).empty();  // being made, or being ended
    const bool is_foreign = !is_ours && !is_of_another(status);
    if (is_foreign && !uses_.table.copy_of(status.id)) unknown.push_back(&status);
  }
  for (const SandboxEntry& entry : uses_.table.all()) {
    if (entry.spec.backend != backend || living.contains(entry.id) || entry.listed_after >= asked)
      continue;
    const bool was_over = !entry.op.empty() && !entry.tenant.empty() && asked >= entry.deadline;
    uses_.sandboxes.let_go(entry.id, was_over ? "ttl" : kEndedByItself);
  }
  for (const SandboxStatus* status : unknown)
    adopt_foreign(*status);
}

}  // namespace nutshell::service
