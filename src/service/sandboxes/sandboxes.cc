#include "service/sandboxes/sandboxes.h"

#include <fmt/format.h>

#include "audit/redactor.h"
#include "base/defer.h"
#include "base/fault_point.h"
#include "base/random_id.h"
#include "runtime/apply_record.h"
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

// For whoever has a command in it; a ttl in init's own words.
std::string words_for_end(const std::string& why) {
  if (why == "ttl") return "the sandbox reached the end of its ttl";
  if (why == kDestroyed || why == kReleased) return "the sandbox was " + why;
  return "the sandbox was ended: " + why;
}

}  // namespace

// The service's own clocks end it earlier; the backend's end holds while no service runs. One of a
// pool gets its deadline when somebody acquires it.
SandboxSpec Sandboxes::spec_for_backend(const Order& order, const SandboxRow& row,
                                        Backend& backend) const {
  SandboxSpec spec = order.spec;
  const bool has_deadline = backend.time_setter() != nullptr && !order.caller.tenant.empty();
  const milliseconds longest = ground_.options.longest_life;
  spec.ttl =
      has_deadline ? std::min(order.spec.ttl + ground_.options.life_grace, longest) : longest;
  spec.idle_timeout = milliseconds(0);
  spec.labels[kOperationLabel] = row.op;
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
  // A pool's spec is the operator's own.
  if (order.pool.empty())
    order.spec = TRY(admit_spec(*ground_.rules.get(), order.caller, std::move(order.spec)));
  if (order.spec.ttl > ground_.options.longest_life) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("ttl is longer than the {} s that a sandbox can live here at most",
                               ground_.options.longest_life.count() / 1000));
  }
  auto charges = TRY(ground_.accounts.take_sandbox(order.caller.tenant, order.spec.limits,
                                                   state_bytes_of(order.spec)));
  SandboxRow row = new_row(order);
  Held held;
  TRY(store_.begin(row));
  fault_point("create.recorded");
  UniqueFd stream;
  auto id = start(order, row, held, stream);
  if (!id) {
    (void)store_.remove(row.op);  // the next start finds that there is no such sandbox
    return id;
  }
  held.listed_after = Clock::now();  // the making may have taken longer than a list
  ground_.table.insert(std::move(held), std::move(charges));
  if (stream) ground_.runtime.keep(*id, wire::InitClient(std::move(stream)));
  fault_point("create.done");
  return id;
}

Result<std::string> Sandboxes::start(const Order& order, SandboxRow& row, Held& held,
                                     UniqueFd& stream) {
  const Runtime::BackendLease backend = TRY(ground_.runtime.backend(order.spec.backend));
  const SandboxSpec spec = spec_for_backend(order, row, *backend);
  held.protections = TRY(backend->check(spec));
  // A pool's image is the operator's.
  ImageHolder* images = order.pool.empty() ? backend->image_holder() : nullptr;
  if (images != nullptr && !order.caller.tenant.empty())
    TRY(ground_.images.ensure(order.caller.tenant, std::string(backend->name()), spec.image,
                              *images));
  row.id =
      TRY(backend->start(spec, order.prepare ? Lifetime::WithCallerUntilReleased : Lifetime::Kept));
  fault_point("create.started");
  Defer stopped([&] { (void)backend->stop(row.id); });
  if (order.prepare) {
    TRY(order.prepare(ground_.runtime, row.id));
    TRY(backend->release(row.id));
  }
  row.stage = kAlive;
  held.id = row.id;
  held.op = row.op;
  held.tenant = order.caller.tenant;
  held.spec = order.spec;
  held.spec.backend = backend->name();
  held.secrets = audit::Redactor(ground_.options.audit.secret_names).secrets_of(spec.environment);
  held.spec.environment.clear();
  held.spec.workspace_began_ns = spec.workspace_began_ns;
  held.session = order.session;
  held.pool = order.pool;
  held.pool_spec = row.pool_spec;
  held.created = std::chrono::system_clock::now();
  held.deadline = Clock::now() + order.spec.ttl;
  row.deadline_ms = to_ms(held.deadline);
  if (!order.spec.workspace.empty()) {
    for (const SandboxStatus& status : TRY(backend->list())) {
      if (status.id == row.id) held.why_copied = status.why_copied;
    }
  }
  TRY(store_.note_alive(row));
  fault_point("create.noted");
  stopped.release();
  // One that lives by its caller's stream gets no other.
  if (backend->is_connecting_costly() && !order.ends_with_service) {
    auto first = backend->connect(row.id);
    if (first) stream = std::move(*first);  // else the first call connects, or says why not
  }
  return row.id;
}

Result<> Sandboxes::stop(const std::string& backend, const std::string& id) {
  TRY(TRY(ground_.runtime.backend(backend))->stop(id));
  TRY(ApplyRecord(id).remove());
  return remove_outputs(id);
}

Result<> Sandboxes::end(const std::string& id, const std::string& why) {
  const auto before = ground_.table.copy_of(id);
  if (before && !before->session.empty() && before_end_) before_end_(*before);
  TRY(store_.note_ending(id));
  fault_point("destroy.recorded");
  const auto held = ground_.table.remove(id);
  ground_.runtime.streams().close(id);
  if (held) {
    tell_why(*held, why);
    auto stopped = stop(held->spec.backend, id);
    if (!stopped) {
      // Nobody may use it any more, but it must not be forgotten either: the clocks try again.
      Held again = *held;
      again.deadline = Clock::now();
      again.state = SandboxState::Running;
      ground_.table.adopt(std::move(again));
      return stopped;
    }
    fault_point("destroy.stopped");
    on_end_(*held, why);
  }
  TRY(store_.remove_id(id));
  fault_point("destroy.done");
  return {};
}

// Before it ends: whoever has a command in it asks at once.
void Sandboxes::tell_why(const Held& held, const std::string& why) {
  if (held.tenant.empty()) return;
  ground_.gone.add(held.tenant, held.id, {Gone::Reason::Unknown, words_for_end(why)});
}

Result<Held> Sandboxes::take_back(const std::string& id) {
  TRY(store_.note_ending(id));
  fault_point("release.recorded");
  auto held = ground_.table.remove(id);
  if (!held) return no_such_sandbox(id);
  tell_why(*held, kReleased);
  ground_.runtime.streams().close(id);
  Held nobodys = *held;
  nobodys.tenant.clear();
  nobodys.deadline = Clock::now() + ground_.options.longest_life;  // end() comes, whatever happens
  nobodys.spec.idle_timeout = milliseconds(0);
  ground_.table.adopt(std::move(nobodys));
  return std::move(*held);
}

void Sandboxes::let_go(const std::string& id, const std::string& why) {
  ground_.runtime.streams().close(id);
  const auto held = ground_.table.remove(id);
  if (!held) return;
  // What cannot be removed now is swept by the next start.
  (void)store_.remove_id(id);
  (void)ApplyRecord(id).remove();
  (void)remove_outputs(id);
  on_end_(*held, why);
}

Result<> Sandboxes::pause(const std::string& id, Pausing pausing) {
  const auto held = ground_.table.copy_of(id);
  if (!held) return no_such_sandbox(id);
  if (held->state == SandboxState::Paused) return {};
  SandboxRow row;
  row.id = id;
  row.ttl_ms = held->spec.ttl.count();
  row.deadline_ms = to_ms(held->deadline);
  row.left_ms = until(held->deadline).count();
  TRY(ground_.runtime.pause(id));
  ground_.table.change(id, [&](Held& changed) {
    changed.state = SandboxState::Paused;
    changed.left = milliseconds(row.left_ms);
    changed.resumes_on_use = pausing == Pausing::WhileIdle;
  });
  return store_.note_clock(row);
}

Result<> Sandboxes::resume(const std::string& id) {
  const auto held = ground_.table.copy_of(id);
  if (!held) return no_such_sandbox(id);
  if (held->state == SandboxState::Running) return {};
  TRY(ground_.runtime.resume(id));
  SandboxRow row;
  row.id = id;
  row.ttl_ms = held->spec.ttl.count();
  const auto deadline = Clock::now() + held->left;
  row.deadline_ms = to_ms(deadline);
  ground_.table.change(id, [&](Held& changed) {
    changed.state = SandboxState::Running;
    changed.deadline = deadline;
    changed.last_used = Clock::now();
  });
  return store_.note_clock(row);
}

Result<> Sandboxes::pass_time_left(const std::string& id, const std::string& backend,
                                   std::chrono::milliseconds left) {
  const Runtime::BackendLease where = TRY(ground_.runtime.backend(backend));
  TimeSetter* setter = where->time_setter();
  return setter == nullptr ? Result<>()
                           : setter->set_time_left(id, left + ground_.options.life_grace);
}

void Sandboxes::pass_deadlines(const std::string& backend) {
  const auto due = ground_.table.those([&backend](const Held& held) {
    return held.spec.backend == backend && held.is_deadline_new && !held.tenant.empty();
  });
  for (const Held& held : due) {
    const bool is_paused = held.state == SandboxState::Paused;
    const auto passed =
        pass_time_left(held.id, held.spec.backend, is_paused ? held.left : until(held.deadline));
    if (!passed) continue;  // it is gone, or is told at the next tick
    ground_.table.change(held.id, [&held](Held& changed) {
      if (changed.deadline == held.deadline) changed.is_deadline_new = false;
    });
  }
}

void Sandboxes::give_time(const std::string& id, std::chrono::milliseconds least) {
  ground_.table.change(id, [least](Held& held) {
    const auto wanted = Clock::now() + least;
    if (held.deadline >= wanted) return;
    held.deadline = wanted;
    held.is_deadline_new = true;
  });
}

Result<> Sandboxes::extend(const std::string& id, std::chrono::milliseconds ttl) {
  const auto held = ground_.table.copy_of(id);
  if (!held) return no_such_sandbox(id);
  if (held->op.empty()) {
    return failure(ErrorCode::Unsupported,
                   fmt::format("sandbox {} was made without the daemon: its ttl is fixed", id));
  }
  const auto last = held->started + ground_.options.longest_life;
  const auto deadline = Clock::now() + ttl;
  if (ttl < milliseconds(1) || ttl > ground_.options.longest_life || deadline > last) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("ttl is out of range: sandbox {} can live {} s more at most", id,
                               until(last).count() / 1000));
  }
  SandboxRow row;
  row.id = id;
  row.ttl_ms = ttl.count();
  row.deadline_ms = to_ms(deadline);
  row.left_ms = held->state == SandboxState::Paused ? ttl.count() : -1;
  TRY(store_.note_clock(row));
  fault_point("extend.recorded");
  TRY(pass_time_left(id, held->spec.backend, ttl));
  ground_.table.change(id, [&](Held& changed) {
    changed.spec.ttl = ttl;
    changed.deadline = deadline;
    changed.left = ttl;
  });
  return {};
}

Result<> Sandboxes::hand_out(const std::string& id, const std::string& tenant,
                             const SandboxSpec& bound) {
  auto held = ground_.table.copy_of(id);
  if (!held) return no_such_sandbox(id);
  held->tenant = tenant;
  held->spec.labels = bound.labels;
  held->spec.ttl = bound.ttl;
  held->spec.idle_timeout = bound.idle_timeout;
  held->deadline = Clock::now() + bound.ttl;
  held->is_deadline_new = true;  // the next tick passes it on: whoever acquires does not wait
  held->last_used = Clock::now();
  held->created = std::chrono::system_clock::now();
  SandboxRow row;
  row.id = id;
  row.tenant = tenant;
  row.labels = bound.labels;
  row.ttl_ms = bound.ttl.count();
  row.deadline_ms = to_ms(held->deadline);
  row.idle_ms = bound.idle_timeout.count();
  TRY(ground_.table.bind(id, *held));
  auto noted = store_.note_owner(row);
  if (!noted) {
    ground_.table.unbind(id);
  }
  return noted;
}

void Sandboxes::expire(const std::string& backend) {
  const auto now = Clock::now();
  const auto is_over = [now](const Held& held) { return !held.op.empty() && now >= held.deadline; };
  const auto is_idle = [now](const Held& held) {
    return held.spec.idle_timeout.count() > 0 && held.users == 0 &&
           now - held.last_used >= held.spec.idle_timeout;
  };
  const auto ended = ground_.table.those([&](const Held& held) {
    if (held.spec.backend != backend || held.tenant.empty() || held.state == SandboxState::Paused)
      return false;
    return is_over(held) || is_idle(held);
  });
  // What cannot be ended now is tried again at the next tick.
  for (const Held& held : ended) {
    const std::string why = is_over(held) ? "ttl" : "idle timeout";
    const bool is_others = !held.session.empty() && ends_apart_ && ends_apart_(held, why);
    if (!is_others) (void)end(held.id, why);
  }
}

}  // namespace nutshell::service
