// What the service does with sandboxes that it finds: at its start, and later.
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <set>
#include <thread>

#include "audit/redactor.h"
#include "base/file.h"
#include "service/model/moments.h"
#include "service/sandboxes/sandboxes.h"

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

// What the state file knows better than a backend, or alone.
void fill_from(const SandboxRow& row, Held& held) {
  held.op = row.op;
  held.tenant = row.tenant;
  held.spec.labels = row.labels;
  held.spec.ttl = milliseconds(row.ttl_ms);
  held.spec.idle_timeout = milliseconds(row.idle_ms);
  held.session = row.session;
  held.pool = row.pool;
  held.pool_spec = row.pool_spec;
  held.created = std::chrono::system_clock::time_point(milliseconds(row.created_ms));
  held.deadline = from_ms(row.deadline_ms);
  if (row.left_ms >= 0) held.left = milliseconds(row.left_ms);
}

// An init that can be reached answers within the first. An engine has seen the end of a container
// within the second; until then it lists it.
constexpr std::chrono::seconds kInitTime{2};
constexpr std::chrono::seconds kSeenTime{3};
constexpr std::chrono::milliseconds kBetweenLooks{20};

}  // namespace

Held Sandboxes::held_of(const SandboxStatus& status) {
  Held held;
  held.id = status.id;
  held.spec = status.spec;
  remove_own_labels(held.spec);
  held.protections = status.protections;
  held.why_copied = status.why_copied;
  held.state = status.state;
  held.started = Clock::now() - status.age;
  held.created = std::chrono::system_clock::now() - status.age;
  held.deadline = Clock::now() + status.time_left;
  held.left = status.time_left;
  const auto backend = ground_.runtime.backend(status.spec.backend);
  const auto environment = backend ? (*backend)->environment_of(status.id)
                                   : Result<std::vector<std::string>>(Failure(backend.error()));
  // Gone meanwhile, or a backend that does not tell: nothing of it can be known either way.
  if (environment) {
    held.secrets = audit::Redactor(ground_.options.audit.secret_names).secrets_of(*environment);
  }
  return held;
}

void Sandboxes::adopt_row(const SandboxRow& row, const SandboxStatus& status) {
  Held held = held_of(status);
  fill_from(row, held);
  // Paused just before the end: it keeps what it had. Not paused after all: so does it.
  if (row.left_ms < 0 && held.state == SandboxState::Paused) held.left = until(held.deadline);
  if (row.left_ms >= 0 && held.state == SandboxState::Running)
    held.deadline = Clock::now() + held.left;
  held.resumes_on_use = !row.session.empty() && held.state == SandboxState::Paused;
  held.is_deadline_new = true;
  ground_.table.adopt(std::move(held));
}

// Gives what was done, or nothing where there is nothing to say.
Result<std::string> Sandboxes::settle_row(const SandboxRow& row, const SandboxStatus* status) {
  if (status != nullptr && row.stage == kAlive) {
    adopt_row(row, *status);
    return std::string();
  }
  if (status != nullptr) TRY(stop(status->spec.backend, status->id));
  TRY(store_.remove(row.op));
  if (status == nullptr && row.stage == kAlive) {
    (void)ground_.table.remove(row.id);  // known from the state file alone, if at all
    Held held;
    held.id = row.id;
    held.tenant = row.tenant;
    held.session = row.session;
    on_end_(held, "it was gone when the daemon started");
    return fmt::format("sandbox {} is gone", row.id);
  }
  if (status == nullptr) return std::string();
  if (row.stage == kEnding) return fmt::format("sandbox {} was being ended: done", status->id);
  return fmt::format("sandbox {} was being made for nobody who knows of it: ended", status->id);
}

void Sandboxes::adopt_foreign(const SandboxStatus& status) {
  Held held = held_of(status);
  const std::string tenant = label_of(status, kTenantLabel);
  held.tenant = tenant.empty() ? ground_.rules.get()->local_tenant : tenant;
  ground_.table.adopt(std::move(held));
}

Result<bool> Sandboxes::is_same_boot() {
  const std::string now = TRY(read_file("/proc/sys/kernel/random/boot_id", 256));
  std::string before;
  TRY(ground_.database.query("SELECT value FROM meta WHERE name='boot'", {},
                             [&before](const Row& row) { before = row.text(0); }));
  TRY(
      ground_.database.run("INSERT INTO meta(name, value) VALUES('boot', ?) "
                           "ON CONFLICT(name) DO UPDATE SET value=excluded.value",
                           {now}));
  return before.empty() || before == now;
}

Result<Sandboxes::Words> Sandboxes::settle(std::vector<SandboxRow> rows,
                                           const std::vector<SandboxStatus>& statuses) {
  Words said;
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
  Words more = TRY(settle_unknown(statuses, settled));
  std::move(more.begin(), more.end(), std::back_inserter(said));
  return said;
}

Result<Sandboxes::Words> Sandboxes::settle_unknown(const std::vector<SandboxStatus>& statuses,
                                                   const std::set<std::string>& known) {
  Words said;
  for (const SandboxStatus& status : statuses) {
    if (known.contains(status.id)) continue;
    const bool is_pools =
        !label_of(status, kPoolLabel).empty() && label_of(status, kTenantLabel).empty();
    if (!is_pools) {
      adopt_foreign(status);
      said.push_back(
          fmt::format("sandbox {} was made without this state file: adopted", status.id));
      continue;
    }
    // Whether somebody used it is unknown, and so it is nobody's to have.
    TRY(stop(status.spec.backend, status.id));
    said.push_back(fmt::format("sandbox {} of a pool is not in the state file: ended", status.id));
  }
  return said;
}

void Sandboxes::keep_unseen(const std::string& backend, const Error& why,
                            std::vector<SandboxRow> rows) {
  for (const SandboxRow& row : rows) {
    if (row.stage != kAlive) continue;
    Held held;
    held.id = row.id;
    held.spec.backend = backend;
    held.is_unseen = true;
    fill_from(row, held);
    ground_.table.adopt(std::move(held));
  }
  unanswered_.with([&](auto& all) { all[backend] = {why.message, std::move(rows)}; });
}

// The first answer of a backend that gave none at the start.
void Sandboxes::settle_late(const std::string& backend,
                            const std::vector<SandboxStatus>& statuses) {
  auto late = unanswered_.with([&backend](auto& all) { return all.extract(backend); });
  if (late.empty()) return;
  // What is being made now has its row already, and is not for us to judge.
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
  ground_.options.notice(fmt::format("backend {} answers", backend));
  for (const std::string& what : said.value_or(Words()))
    ground_.options.notice(what);
  if (said) return;
  const std::string& why = said.error().message;
  ground_.options.notice(fmt::format("backend {}: {}", backend, why));
  unanswered_.with([&](auto& all) { all[backend] = {why, std::move(late.mapped().rows)}; });
}

std::map<std::string, std::string> Sandboxes::unanswered() {
  return unanswered_.with([](const auto& all) {
    std::map<std::string, std::string> reasons;
    for (const auto& [backend, one] : all)
      reasons[backend] = one.why;
    return reasons;
  });
}

Result<std::vector<std::string>> Sandboxes::adopt() {
  using Listed = Result<std::vector<SandboxStatus>>;
  const bool is_same = TRY(is_same_boot());
  std::map<std::string, std::future<Listed>> lists;  // all at once: each may wait for an answer
  for (const BackendEntry& entry : backend_registry())
    lists[entry.name] =
        std::async(std::launch::async, [&, this] { return ground_.runtime.list_of(entry.name); });
  std::map<std::string, std::vector<SandboxRow>> rows;
  for (SandboxRow& row : TRY(store_.all())) {
    // The clock of another boot says nothing: the ttl begins again.
    if (!is_same) row.deadline_ms = to_ms(Clock::now() + milliseconds(row.ttl_ms));
    if (row.backend.empty()) row.backend = backend_registry().front().name;
    rows[row.backend].push_back(std::move(row));
  }
  Words said;
  for (auto& [backend, listed] : lists) {
    const Listed statuses = listed.get();
    if (!statuses) {
      said.push_back(fmt::format("backend {} does not answer: {}; its {} sandboxes wait for it",
                                 backend, statuses.error().message, rows[backend].size()));
      keep_unseen(backend, statuses.error(), std::exchange(rows[backend], {}));
      continue;
    }
    Words more = TRY(settle(std::exchange(rows[backend], {}), *statuses));
    std::move(more.begin(), more.end(), std::back_inserter(said));
  }
  // A backend that there is not has nothing.
  for (auto& [backend, left] : rows)
    TRY(settle(std::exchange(left, {}), {}));
  return said;
}

bool Sandboxes::is_alive(const std::string& id) {
  const Deadline patience = Deadline::in(kSeenTime);
  for (;;) {
    const auto held = ground_.table.copy_of(id);
    if (!held) return false;
    if (held->state == SandboxState::Paused || held->is_unseen) return true;
    if (ground_.runtime.ping(id, Deadline::in(kInitTime))) return true;
    const auto statuses = ground_.runtime.list_of(held->spec.backend);
    if (!statuses) return true;  // a backend that does not answer has lost nothing yet
    const auto found = std::find_if(statuses->begin(), statuses->end(),
                                    [&id](const SandboxStatus& status) { return status.id == id; });
    if (found == statuses->end()) {
      let_go(id, kEndedByItself);
      return false;
    }
    if (found->state == SandboxState::Paused || patience.has_passed()) return true;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void Sandboxes::reconcile(const std::string& backend) {
  const auto asked = Clock::now();
  const auto statuses = ground_.runtime.list_of(backend);
  if (!statuses) return;  // a backend that does not answer has lost nothing yet
  settle_late(backend, *statuses);
  std::set<std::string> living;
  std::vector<const SandboxStatus*> unknown;
  for (const SandboxStatus& status : *statuses) {
    living.insert(status.id);
    const bool is_ours = !label_of(status, kOperationLabel).empty();  // it is being made, or ended
    if (!is_ours && !ground_.table.copy_of(status.id)) unknown.push_back(&status);
  }
  for (const Held& held : ground_.table.all()) {
    if (held.spec.backend != backend || living.contains(held.id) || held.listed_after >= asked)
      continue;
    const bool was_over = !held.op.empty() && !held.tenant.empty() && asked >= held.deadline;
    let_go(held.id, was_over ? "ttl" : kEndedByItself);
  }
  for (const SandboxStatus* status : unknown)
    adopt_foreign(*status);
}

}  // namespace nutshell::service
