#include "service/execs/detached_execs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/defer.h"
#include "base/directory.h"
#include "base/fault_point.h"
#include "base/random_id.h"
#include "core/json_form.h"
#include "service/model/moments.h"
#include "service/sandboxes/spec_text.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kKept = 10min;

Failure no_such_exec(const std::string& exec_id) {
  return failure(ErrorCode::NotFound,
                 fmt::format("no exec '{}': it was never started, or ended long ago", exec_id));
}

// Passes output on to a caller. A hang-up ends the reading, not the command.
class LeavesRunning : public wire::ExecIo {
 public:
  explicit LeavesRunning(wire::ExecIo& caller) : caller_(caller) {}
  Taken take(wire::Stream stream, std::string_view bytes) override {
    return is_gone_ ? Taken::ReaderGone : caller_.take(stream, bytes);
  }
  std::optional<wire::ExecEvent> next_event() override {
    const auto event = caller_.next_event();
    if (!event || !std::holds_alternative<wire::CancelExec>(*event)) return event;
    is_gone_ = true;
    return std::nullopt;
  }
  [[nodiscard]] int event_descriptor() const override { return caller_.event_descriptor(); }
  [[nodiscard]] bool has_left() const override { return is_gone_ || caller_.has_left(); }

 private:
  wire::ExecIo& caller_;
  bool is_gone_ = false;
};

ExecResult lost(std::string detail) {
  ExecResult result;
  result.outcome = Outcome::Lost;
  result.detail = std::move(detail);
  return result;
}

}  // namespace

DetachedExecs::~DetachedExecs() {
  auto all = execs_.with([](auto& execs) { return std::exchange(execs, {}); });
  for (auto& [id, running] : all)
    running.exec->let_go();
}

Result<std::shared_ptr<DetachedExec>> DetachedExecs::find(const std::string& tenant,
                                                          const std::string& sandbox,
                                                          const std::string& exec_id) {
  return execs_.with([&](auto& execs) -> Result<std::shared_ptr<DetachedExec>> {
    const auto found = execs.find(exec_id);
    if (found == execs.end()) return no_such_exec(exec_id);
    const auto& identity = found->second.exec->identity();
    if (identity.tenant != tenant || !identity.sandbox.starts_with(sandbox))
      return no_such_exec(exec_id);
    return found->second.exec;
  });
}

Result<ExecState> DetachedExecs::start(const Caller& caller, const SandboxRef& ref,
                                       ExecRequest request, const std::string& key) {
  TRY(check_exec(request));
  const auto lock = uses_.idempotency.lock(caller.tenant, key);
  const std::string text = ref.id + to_json_text(request, Written::Kept);
  if (const auto before = TRY(uses_.idempotency.find(caller.tenant, key, text))) {
    // The command has run, so it is not run again, even if its result is no longer kept.
    if (auto same = find(caller.tenant, ref.id, *before)) return (*same)->state();
    return failure(
        ErrorCode::AlreadyExists,
        fmt::format("the idempotency key was used for exec {}, whose result is no longer "
                    "kept: take a new key to run the command again",
                    *before));
  }
  Charge place = TRY(take_place(caller.tenant));
  const auto used = uses_.table.use(ref.id);
  request.on_disconnect = OnDisconnect::Keep;
  request.standard_input = StandardInput::Empty;
  const auto note_key = [&](const std::string& exec_id) {
    return uses_.idempotency.note(caller.tenant, key, text, exec_id);
  };
  return uses_.operations.run(
      caller, {"exec", subject_of(ref), uses_.operations.describe(request, ref.secrets)},
      [&](Operation& operation) {
        return start_admitted(ref, std::move(request), std::move(place), note_key, operation);
      });
}

Result<ExecState> DetachedExecs::start_admitted(const SandboxRef& ref, ExecRequest request,
                                                Charge place, const NoteKey& note_key,
                                                Operation& operation) {
  const auto reservation = TRY(uses_.execs.admit(ref, operation, request.limits));
  Defer unreserved([&] { uses_.budgets.settle(reservation, {}); });
  const std::string exec_id = random_id(16);
  auto exec =
      TRY(DetachedExec::open(spool_of(ref.tenant), {exec_id, ref.tenant, ref.id, ref.session,
                                                    request.limits, operation.begun_id}));
  TRY(uses_.database.run(
      "INSERT INTO execs(exec_id, tenant, sandbox, session, stage, limits, begun_id, audit_id, "
      "result, ended_ms) VALUES(?,?,?,?,'running',?,?,0,'',0)",
      {exec_id, ref.tenant, ref.id, ref.session, to_json_text(request.limits, Written::Kept),
       static_cast<std::int64_t>(operation.begun_id)}));
  // Noted after its row and before its start, so that a key never names an unknown exec.
  TRY(note_key(exec_id));
  fault_point("detach.recorded");
  unreserved.release();
  launch(exec, std::move(place),
         {std::move(operation), ref, reservation,
          [request](wire::InitClient& client, DetachedExec& target) {
            return client.exec_named(target.identity().exec_id, request, target);
          }});
  return exec->state();
}

Result<ExecReply> DetachedExecs::run_once(const Caller& caller, const SandboxRef& ref,
                                          const ExecRequest& request, const ExecOptions& options,
                                          wire::ExecIo& io) {
  if (request.standard_input == StandardInput::Streamed || options.trace != TraceLevel::Off) {
    return failure(ErrorCode::Unsupported,
                   "an exec with an idempotency key takes neither stdin nor trace: its result is "
                   "kept to be given again, and those are not");
  }
  const ExecState begun = TRY(start(caller, ref, request, options.idempotency_key));
  const auto exec = TRY(find(caller.tenant, ref.id, begun.exec_id));
  LeavesRunning reader(io);
  const ExecState state = TRY(exec->follow({}, Deadline::never(), reader));
  if (!state.ending) {
    return failure(ErrorCode::Unavailable,
                   fmt::format("exec {} still runs, but this request no longer waits for it: ask "
                               "again with the same idempotency key",
                               begun.exec_id));
  }
  ExecReply reply;
  reply.result = *state.ending;
  reply.audit_id = state.audit_id;
  return reply;
}

DetachedExec::Spool DetachedExecs::spool_of(const std::string& tenant) {
  return {uses_.directory, uses_.accounts.of(tenant, Resource::SpoolBytes),
          uses_.rules.get()->bounds.spool_bytes, [this, tenant] { return forget_oldest(tenant); }};
}

Result<Charge> DetachedExecs::take_place(const std::string& tenant) {
  for (;;) {
    auto place = uses_.accounts.take(tenant, Resource::DetachedExecs, 1);
    if (place || !forget_oldest(tenant)) return place;
  }
}

void DetachedExecs::remove(const std::string& exec_id) {
  // forget_old() removes a row that stays.
  (void)uses_.database.run("DELETE FROM execs WHERE exec_id=?", {exec_id});
  DetachedExec::remove_files(uses_.directory, exec_id);
}

bool DetachedExecs::forget_oldest(const std::string& tenant) {
  // Joins its thread without holding the lock.
  std::map<std::string, Running> oldest;
  execs_.with([&](auto& execs) {
    auto found = execs.end();
    Clock::duration longest{-1};
    for (auto item = execs.begin(); item != execs.end(); ++item) {
      if (item->second.exec->identity().tenant != tenant) continue;
      const auto ended = item->second.exec->ended_since();
      if (!ended || *ended <= longest) continue;
      longest = *ended;
      found = item;
    }
    if (found != execs.end()) oldest.insert(execs.extract(found));
  });
  for (auto& [id, running] : oldest) {
    running.exec->drop_output();
    remove(id);
  }
  return !oldest.empty();
}

void DetachedExecs::drop_outputs(const std::string& sandbox) {
  std::vector<std::shared_ptr<DetachedExec>> all;
  execs_.with([&](auto& execs) {
    for (const auto& [id, running] : execs)
      if (running.exec->identity().sandbox == sandbox) all.push_back(running.exec);
  });
  for (const auto& exec : all)
    exec->drop_output();
}

void DetachedExecs::launch(std::shared_ptr<DetachedExec> exec, Charge place, Job job) {
  execs_.with([&](auto& execs) {
    Running& running = execs[exec->identity().exec_id];
    running.exec = exec;
    running.place = std::move(place);
    running.runner =
        std::jthread([this, exec, taken = std::move(job)]() mutable { run(exec, taken); });
  });
}

Result<ExecResult> DetachedExecs::execute(DetachedExec& exec, const Job& job) {
  // A paused sandbox takes no connection, nor does one whose backend does not answer. Tries again
  // until it does.
  const auto cannot_be_reached = [&] {
    const SandboxTable::CurrentState rest = uses_.table.current_state(job.ref.id);
    return rest.is_paused || rest.is_unseen;
  };
  while (cannot_be_reached() && !exec.was_let_go())
    std::this_thread::sleep_for(50ms);
  UniqueFd stream = TRY(uses_.runtime.open_stream(job.ref.id));
  exec.hold_stream(stream.get());
  wire::InitClient client(std::move(stream));
  auto result = job.execution(client, exec);
  exec.hold_stream(-1);
  return result;
}

void DetachedExecs::run(const std::shared_ptr<DetachedExec>& exec, Job& job) {
  const auto used = uses_.table.use(job.ref.id);
  auto result = execute(*exec, job);
  fault_point("detach.ended");
  const bool is_lost = !result || result->outcome == Outcome::Lost;
  if (is_lost && exec->was_let_go()) return;  // the next daemon follows it
  if (result && is_lost) result = uses_.execs.explain_loss(job.ref, std::move(*result));
  finish(*exec, job, result);
}

void DetachedExecs::finish(DetachedExec& exec, Job& job, const Result<ExecResult>& result) {
  const ExecResult ending = result ? *result : lost(result.error().message);
  Usage usage = usage_of(ending);
  if (job.reservation.amount.execs == 0) usage.execs = 0;  // counted by an earlier daemon
  uses_.watch.count(job.reservation.tenant, job.reservation.session, exec.identity().sandbox);
  uses_.budgets.settle(job.reservation, usage);
  Ending& told = job.operation.ending;
  told.outcome = outcome_text(ending);
  told.detail = ending.detail;
  told.output_bytes = ending.stdout_bytes + ending.stderr_bytes;
  const std::uint64_t audit_id = uses_.operations.end(job.operation);
  // Saved before any caller gets the ending, so that it is the same after a restart.
  (void)uses_.database.run(
      "UPDATE execs SET stage='ended', result=?, audit_id=?, ended_ms=? WHERE exec_id=?",
      {to_json_text(ending, Written::Kept), static_cast<std::int64_t>(audit_id),
       to_ms(Clock::now()), exec.identity().exec_id});
  fault_point("detach.noted");
  exec.finish(ending, audit_id);
}

Result<> DetachedExecs::adopt_row(const Row& row) {
  DetachedExec::Identity identity;
  identity.exec_id = row.text(0);
  identity.tenant = row.text(1);
  identity.sandbox = row.text(2);
  identity.session = row.text(3);
  identity.limits = TRY(from_json_text<ExecLimits>(row.text(5)));
  identity.begun_id = static_cast<std::uint64_t>(row.number(6));
  Charge place = uses_.accounts.of(identity.tenant, Resource::DetachedExecs).take_anyway(1);
  if (row.text(4) == "ended") {
    auto ended = TRY(DetachedExec::open_ended(spool_of(identity.tenant), identity));
    ended->finish(TRY(from_json_text<ExecResult>(row.text(8))),
                  static_cast<std::uint64_t>(row.number(7)));
    execs_.with([&](auto& execs) {
      execs[identity.exec_id].exec = ended;
      execs[identity.exec_id].place = std::move(place);
    });
    return {};
  }
  auto exec = TRY(DetachedExec::open(spool_of(identity.tenant), identity));
  Job job;
  job.operation =
      Operations::resume({identity.tenant, "daemon"},
                         {"exec", {identity.sandbox, identity.session, {}}}, identity.begun_id);
  job.reservation = {identity.tenant, identity.session, {}};
  job.ref.id = identity.sandbox;
  if (const auto entry = uses_.table.copy_of(identity.sandbox))
    job.ref.backend = entry->spec.backend;
  job.execution = [](wire::InitClient& client, DetachedExec& target) {
    const ExecState state = target.state();
    return client.attach({target.identity().exec_id, state.output_bytes, state.error_bytes},
                         target.identity().limits, target);
  };
  launch(std::move(exec), std::move(place), std::move(job));
  return {};
}

Result<> DetachedExecs::adopt() {
  TRY(make_directory(uses_.directory));
  Result<> outcome;
  TRY(uses_.database.query(
      "SELECT exec_id, tenant, sandbox, session, stage, limits, begun_id, audit_id, result FROM "
      "execs",
      {}, [&](const Row& row) {
        if (outcome) outcome = adopt_row(row);
      }));
  if (outcome) sweep_files();
  return outcome;
}

// Removes files without a row, which a killed daemon left.
void DetachedExecs::sweep_files() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(uses_.directory, error)) {
    const std::string id = DetachedExec::exec_of_file(entry.path().filename().native());
    const bool is_known =
        !id.empty() && execs_.with([&id](const auto& execs) { return execs.contains(id); });
    if (!is_known) std::filesystem::remove(entry.path(), error);
  }
}

void DetachedExecs::forget_old() {
  std::map<std::string, Running> old;
  execs_.with([&old](auto& execs) {
    for (auto item = execs.begin(); item != execs.end();) {
      const auto ended = item->second.exec->ended_since();
      const auto next = std::next(item);
      if (ended && *ended > kKept) old.insert(execs.extract(item));
      item = next;
    }
  });
  for (const auto& [id, running] : old)
    remove(id);
}

}  // namespace nutshell::service
