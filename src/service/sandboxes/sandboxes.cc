#include "service/sandboxes/sandboxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "audit/redactor.h"
#include "base/defer.h"
#include "base/fault_point.h"
#include "base/random_id.h"
#include "base/sha256.h"
#include "runtime/apply_record.h"
#include "runtime/network.h"
#include "runtime/output_store.h"
#include "service/model/moments.h"
#include "service/sandboxes/spec_text.h"
#include "service/tenants/allowed.h"

namespace nutshell::service {
namespace {

SandboxRow new_row(const Sandboxes::Order& order) {
  SandboxRow row;
  row.op = order.op.empty() ? random_id(16) : order.op;
  row.tenant = order.caller.tenant;
  row.backend = order.spec.backend;
  row.labels = order.spec.labels;
  row.created_ms = wall_ms();
  row.ttl_ms = order.spec.ttl.count();
  row.idle_ms = order.spec.idle_timeout.count();
  row.session = order.session;
  row.pool = order.pool;
  if (!order.pool.empty()) row.pool_spec = hash_of_spec(order.spec);
  return row;
}

// The reason for callers with a command in the sandbox. For a ttl it is the same text as init's.
std::string words_for_end(const std::string& why) {
  if (why == "ttl") return "the sandbox reached the end of its ttl";
  if (why == kDestroyed || why == kReleased) return "the sandbox was " + why;
  return "the sandbox was ended: " + why;
}

// How long init may take to answer, and how long an engine may list a container that has ended.
constexpr std::chrono::seconds kInitTime{2};
constexpr std::chrono::seconds kSeenTime{3};
constexpr std::chrono::milliseconds kBetweenLooks{20};

}  // namespace

std::string owner_of(const std::filesystem::path& state_directory) {
  std::error_code error;
  const auto whole = std::filesystem::weakly_canonical(state_directory, error);
  return sha256_hex((error ? state_directory : whole).native()).substr(0, 16);
}

// The deadline of the backend is later than the service's own; it holds while no service runs. A
// sandbox of a pool gets its deadline when it is acquired.
SandboxSpec Sandboxes::spec_for_backend(const Order& order, const SandboxRow& row,
                                        Backend& backend) const {
  SandboxSpec spec = order.spec;
  const bool has_deadline = backend.time_setter() != nullptr && !order.caller.tenant.empty();
  const milliseconds longest = uses_.options.longest_life;
  spec.ttl = has_deadline ? std::min(order.spec.ttl + uses_.options.life_grace, longest) : longest;
  spec.idle_timeout = milliseconds(0);
  spec.labels[kOperationLabel] = row.op;
  spec.labels[kOwnerLabel] = owner_of(uses_.options.state_directory);
  if (!order.caller.tenant.empty()) spec.labels[kTenantLabel] = order.caller.tenant;
  if (!order.pool.empty()) spec.labels[kPoolLabel] = order.pool;
  if (order.ends_with_service) spec.labels[kStreamLabel] = "yes";
  if (!spec.workspace.empty()) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    spec.workspace_began_ns =
        std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
  return spec;
}

Result<std::string> Sandboxes::make(Order order) {
  TRY(check_spec(order.spec));
  // The operator chose the spec of a pool, so it is not checked against the lists.
  if (order.pool.empty())
    order.spec = TRY(admit_spec(*uses_.rules.get(), order.caller, std::move(order.spec)));
  if (order.spec.ttl > uses_.options.longest_life) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("ttl is longer than the {} s that a sandbox can live here at most",
                               uses_.options.longest_life.count() / 1000));
  }
  auto charges = TRY(uses_.accounts.take_sandbox(order.caller.tenant, order.spec.limits,
                                                 state_bytes_of(order.spec)));
  SandboxRow row = new_row(order);
  SandboxEntry entry;
  TRY(store_.begin(row));
  fault_point("create.recorded");
  UniqueFd stream;
  auto id = start(order, row, entry, stream);
  if (!id) {
    (void)store_.remove(row.op);  // else the next start removes the row
    return id;
  }
  entry.listed_after = Clock::now();  // lists from before this moment may lack it
  uses_.table.insert(std::move(entry), std::move(charges));
  if (stream) uses_.runtime.keep(*id, wire::InitClient(std::move(stream)));
  fault_point("create.done");
  return id;
}

Result<std::string> Sandboxes::start(const Order& order, SandboxRow& row, SandboxEntry& entry,
                                     UniqueFd& stream) {
  const Runtime::BackendLease backend = TRY(uses_.runtime.backend(order.spec.backend));
  const SandboxSpec spec = spec_for_backend(order, row, *backend);
  entry.protections = TRY(backend->check(spec));
  // Images of pools are the operator's and not charged to a tenant.
  ImageHolder* images = order.pool.empty() ? backend->image_holder() : nullptr;
  if (images != nullptr && !order.caller.tenant.empty())
    TRY(uses_.images.ensure(order.caller.tenant, spec, std::string(backend->name()), *images));
  row.id =
      TRY(start_with_network(uses_.runtime.context(), *backend, spec,
                             order.prepare ? Lifetime::WithCallerUntilReleased : Lifetime::Kept));
  fault_point("create.started");
  Defer stopped([&] {
    (void)backend->stop(row.id);
    end_network(row.id);
  });
  if (order.prepare) {
    TRY(order.prepare(uses_.runtime, row.id));
    TRY(backend->release(row.id));
  }
  row.stage = kAlive;
  entry.id = row.id;
  entry.op = row.op;
  entry.tenant = order.caller.tenant;
  entry.spec = order.spec;
  entry.spec.backend = backend->name();
  entry.secrets = audit::Redactor(uses_.options.audit.secret_names).secrets_of(spec.environment);
  entry.spec.environment.clear();
  for (NetworkSecret& secret : entry.spec.network.secrets)
    secret.value.clear();  // only nutshell-egress needs it
  entry.spec.workspace_began_ns = spec.workspace_began_ns;
  entry.session = order.session;
  entry.pool = order.pool;
  entry.pool_spec = row.pool_spec;
  entry.created = std::chrono::system_clock::now();
  entry.deadline = Clock::now() + order.spec.ttl;
  row.deadline_ms = to_ms(entry.deadline);
  if (!order.spec.workspace.empty()) {
    for (const SandboxStatus& status : TRY(backend->list())) {
      if (status.id == row.id) entry.why_copied = status.why_copied;
    }
  }
  TRY(store_.note_alive(row));
  fault_point("create.noted");
  stopped.release();
  // A sandbox that ends with its caller's stream gets no other stream.
  if (backend->is_connecting_costly() && !order.ends_with_service) {
    auto first = backend->connect(row.id);
    if (first)
      stream = std::move(*first);  // else the first call connects, or fails with the reason
  }
  return row.id;
}

Result<> Sandboxes::stop(const std::string& backend, const std::string& id) {
  TRY(TRY(uses_.runtime.backend(backend))->stop(id));
  end_network(id);
  TRY(ApplyRecord(id).remove());
  return remove_outputs(id);
}

Result<> Sandboxes::end(const std::string& id, const std::string& why) {
  const auto before = uses_.table.copy_of(id);
  if (before && !before->session.empty() && before_end_) before_end_(*before);
  TRY(store_.note_ending(id));
  fault_point("destroy.recorded");
  const auto entry = uses_.table.remove(id);
  uses_.runtime.streams().close(id);
  if (entry) {
    tell_why(*entry, why);
    auto stopped = stop(entry->spec.backend, id);
    if (!stopped) {
      // Keeps the entry with a deadline that has passed, so that the next tick tries again.
      SandboxEntry again = *entry;
      again.deadline = Clock::now();
      again.state = SandboxState::Running;
      uses_.table.adopt(std::move(again));
      return stopped;
    }
    fault_point("destroy.stopped");
    on_end_(*entry, why);
  }
  TRY(store_.remove_id(id));
  fault_point("destroy.done");
  return {};
}

// Called before the end, because callers with a command in the sandbox ask at once.
void Sandboxes::tell_why(const SandboxEntry& entry, const std::string& why) {
  if (entry.tenant.empty()) return;
  uses_.gone.add(entry.tenant, entry.id, {Gone::Reason::Unknown, words_for_end(why)});
}

Result<SandboxEntry> Sandboxes::take_back(const std::string& id) {
  TRY(store_.note_ending(id));
  fault_point("release.recorded");
  auto entry = uses_.table.remove(id);
  if (!entry) return no_such_sandbox(id);
  tell_why(*entry, kReleased);
  uses_.runtime.streams().close(id);
  SandboxEntry ownerless = *entry;
  ownerless.tenant.clear();
  ownerless.deadline = Clock::now() + uses_.options.longest_life;  // end() comes earlier
  ownerless.spec.idle_timeout = milliseconds(0);
  uses_.table.adopt(std::move(ownerless));
  return std::move(*entry);
}

void Sandboxes::let_go(const std::string& id, const std::string& why) {
  uses_.runtime.streams().close(id);
  const auto entry = uses_.table.remove(id);
  if (!entry) return;
  // The next start removes what cannot be removed now.
  (void)store_.remove_id(id);
  (void)ApplyRecord(id).remove();
  (void)remove_outputs(id);
  on_end_(*entry, why);
}

bool Sandboxes::is_alive(const std::string& id) {
  const Deadline patience = Deadline::in(kSeenTime);
  for (;;) {
    const auto entry = uses_.table.copy_of(id);
    if (!entry) return false;
    if (entry->state == SandboxState::Paused || entry->is_unseen) return true;
    if (uses_.runtime.ping(id, Deadline::in(kInitTime))) return true;
    const auto statuses = uses_.runtime.list_of(entry->spec.backend);
    if (!statuses) return true;  // an unanswered question says nothing about sandboxes
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

Result<> Sandboxes::pause(const std::string& id, Pausing pausing) {
  const auto entry = uses_.table.copy_of(id);
  if (!entry) return no_such_sandbox(id);
  if (entry->state == SandboxState::Paused) return {};
  SandboxRow row;
  row.id = id;
  row.ttl_ms = entry->spec.ttl.count();
  row.deadline_ms = to_ms(entry->deadline);
  row.left_ms = until(entry->deadline).count();
  TRY(uses_.runtime.pause(id));
  uses_.table.change(id, [&](SandboxEntry& changed) {
    changed.state = SandboxState::Paused;
    changed.left = milliseconds(row.left_ms);
    changed.resumes_on_use = pausing == Pausing::WhileIdle;
  });
  return store_.note_clock(row);
}

Result<> Sandboxes::resume(const std::string& id) {
  const auto entry = uses_.table.copy_of(id);
  if (!entry) return no_such_sandbox(id);
  if (entry->state == SandboxState::Running) return {};
  TRY(uses_.runtime.resume(id));
  SandboxRow row;
  row.id = id;
  row.ttl_ms = entry->spec.ttl.count();
  const auto deadline = Clock::now() + entry->left;
  row.deadline_ms = to_ms(deadline);
  uses_.table.change(id, [&](SandboxEntry& changed) {
    changed.state = SandboxState::Running;
    changed.deadline = deadline;
    changed.last_used = Clock::now();
  });
  return store_.note_clock(row);
}

Result<> Sandboxes::wake(const std::string& id) {
  const SandboxTable::CurrentState rest = uses_.table.current_state(id);
  if (!rest.is_paused) return {};
  if (rest.resumes_on_use) return resume(id);
  return failure(ErrorCode::Unavailable,
                 fmt::format("sandbox {0} is paused: nutshell resume {0}", id));
}

Result<> Sandboxes::pass_time_left(const std::string& id, const std::string& backend,
                                   std::chrono::milliseconds left) {
  const Runtime::BackendLease where = TRY(uses_.runtime.backend(backend));
  TimeSetter* setter = where->time_setter();
  return setter == nullptr ? Result<>()
                           : setter->set_time_left(id, left + uses_.options.life_grace);
}

void Sandboxes::pass_deadlines(const std::string& backend) {
  const auto due = uses_.table.those([&backend](const SandboxEntry& entry) {
    return entry.spec.backend == backend && entry.is_deadline_new && !entry.tenant.empty();
  });
  for (const SandboxEntry& entry : due) {
    const bool is_paused = entry.state == SandboxState::Paused;
    const auto passed = pass_time_left(entry.id, entry.spec.backend,
                                       is_paused ? entry.left : until(entry.deadline));
    if (!passed) continue;  // it has ended, or the next tick tries again
    uses_.table.change(entry.id, [&entry](SandboxEntry& changed) {
      if (changed.deadline == entry.deadline) changed.is_deadline_new = false;
    });
  }
}

void Sandboxes::give_time(const std::string& id, std::chrono::milliseconds least) {
  uses_.table.change(id, [least](SandboxEntry& entry) {
    const auto wanted = Clock::now() + least;
    if (entry.deadline >= wanted) return;
    entry.deadline = wanted;
    entry.is_deadline_new = true;
  });
}

Result<> Sandboxes::extend(const std::string& id, std::chrono::milliseconds ttl) {
  const auto entry = uses_.table.copy_of(id);
  if (!entry) return no_such_sandbox(id);
  if (entry->op.empty()) {
    return failure(ErrorCode::Unsupported,
                   fmt::format("sandbox {} was made without the daemon: its ttl is fixed", id));
  }
  const auto last = entry->started + uses_.options.longest_life;
  const auto deadline = Clock::now() + ttl;
  if (ttl < milliseconds(1) || ttl > uses_.options.longest_life || deadline > last) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("ttl is out of range: sandbox {} can live {} s more at most", id,
                               until(last).count() / 1000));
  }
  SandboxRow row;
  row.id = id;
  row.ttl_ms = ttl.count();
  row.deadline_ms = to_ms(deadline);
  row.left_ms = entry->state == SandboxState::Paused ? ttl.count() : -1;
  TRY(store_.note_clock(row));
  fault_point("extend.recorded");
  TRY(pass_time_left(id, entry->spec.backend, ttl));
  uses_.table.change(id, [&](SandboxEntry& changed) {
    changed.spec.ttl = ttl;
    changed.deadline = deadline;
    changed.left = ttl;
  });
  return {};
}

Result<> Sandboxes::hand_out(const std::string& id, const std::string& tenant,
                             const SandboxSpec& bound) {
  auto entry = uses_.table.copy_of(id);
  if (!entry) return no_such_sandbox(id);
  entry->tenant = tenant;
  entry->spec.labels = bound.labels;
  entry->spec.ttl = bound.ttl;
  entry->spec.idle_timeout = bound.idle_timeout;
  entry->deadline = Clock::now() + bound.ttl;
  entry->is_deadline_new =
      true;  // passed to the backend at the next tick, so that the caller does not wait
  entry->last_used = Clock::now();
  entry->created = std::chrono::system_clock::now();
  SandboxRow row;
  row.id = id;
  row.tenant = tenant;
  row.labels = bound.labels;
  row.ttl_ms = bound.ttl.count();
  row.deadline_ms = to_ms(entry->deadline);
  row.idle_ms = bound.idle_timeout.count();
  TRY(uses_.table.bind(id, *entry));
  auto noted = store_.note_owner(row);
  if (!noted) {
    uses_.table.unbind(id);
  }
  return noted;
}

void Sandboxes::expire(const std::string& backend) {
  const auto now = Clock::now();
  const auto is_over = [now](const SandboxEntry& entry) {
    return !entry.op.empty() && now >= entry.deadline;
  };
  const auto is_idle = [now](const SandboxEntry& entry) {
    return entry.spec.idle_timeout.count() > 0 && entry.users == 0 &&
           now - entry.last_used >= entry.spec.idle_timeout;
  };
  const auto ended = uses_.table.those([&](const SandboxEntry& entry) {
    if (entry.spec.backend != backend || entry.tenant.empty() ||
        entry.state == SandboxState::Paused)
      return false;
    return is_over(entry) || is_idle(entry);
  });
  // The next tick tries again to end what cannot be ended now.
  for (const SandboxEntry& entry : ended) {
    const std::string why = is_over(entry) ? "ttl" : "idle timeout";
    const bool is_others = !entry.session.empty() && ends_apart_ && ends_apart_(entry, why);
    if (!is_others) (void)end(entry.id, why);
  }
}

}  // namespace nutshell::service
