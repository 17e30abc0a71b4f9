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

// Reads for a caller whose hang-up ends the reading and not the command.
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

Result<ExecState> DetachedExecs::start(const Caller& caller, const Grip& grip, ExecRequest request,
                                       const std::string& key) {
  TRY(check_exec(request));
  const auto lock = ground_.idempotency.lock(caller.tenant, key);
  const std::string text = grip.id + to_json_text(request, Written::Kept);
  if (const auto before = TRY(ground_.idempotency.find(caller.tenant, key, text))) {
    // The command ran, so it is not run again, also when its result is no longer kept.
    if (auto same = find(caller.tenant, grip.id, *before)) return (*same)->state();
    return failure(
        ErrorCode::AlreadyExists,
        fmt::format("the idempotency key was used for exec {}, whose result is no longer "
                    "kept: take a new key to run the command again",
                    *before));
  }
  Charge place = TRY(take_place(caller.tenant));
  const auto used = ground_.table.use(grip.id);
  request.on_disconnect = OnDisconnect::Keep;
  request.standard_input = StandardInput::Empty;
  const auto note_key = [&](const std::string& exec_id) {
    return ground_.idempotency.note(caller.tenant, key, text, exec_id);
  };
  return ground_.operations.run(
      caller, {"exec", subject_of(grip), ground_.operations.describe(request, grip.secrets)},
      [&](Operation& operation) {
        return start_admitted(grip, std::move(request), std::move(place), note_key, operation);
      });
}

Result<ExecState> DetachedExecs::start_admitted(const Grip& grip, ExecRequest request, Charge place,
                                                const NoteKey& note_key, Operation& operation) {
  const auto reservation = TRY(ground_.execs.admit(grip, operation, request.limits));
  Defer unreserved([&] { ground_.budgets.settle(reservation, {}); });
  const std::string exec_id = random_id(16);
  auto exec =
      TRY(DetachedExec::open(spool_of(grip.tenant), {exec_id, grip.tenant, grip.id, grip.session,
                                                     request.limits, operation.begun_id}));
  TRY(ground_.database.run(
      "INSERT INTO execs(exec_id, tenant, sandbox, session, stage, limits, begun_id, audit_id, "
      "result, ended_ms) VALUES(?,?,?,?,'running',?,?,0,'',0)",
      {exec_id, grip.tenant, grip.id, grip.session, to_json_text(request.limits, Written::Kept),
       static_cast<std::int64_t>(operation.begun_id)}));
  // After its row and before its start: a key never names an exec that was not written down.
  TRY(note_key(exec_id));
  fault_point("detach.recorded");
  unreserved.release();
  launch(exec, std::move(place),
         {std::move(operation), grip, reservation,
          [request](wire::InitClient& client, DetachedExec& target) {
            return client.exec_named(target.identity().exec_id, request, target);
          }});
  return exec->state();
}

Result<ExecReply> DetachedExecs::run_once(const Caller& caller, const Grip& grip,
                                          const ExecRequest& request, const ExecOptions& options,
                                          wire::ExecIo& io) {
  if (request.standard_input == StandardInput::Streamed || options.trace != TraceLevel::Off) {
    return failure(ErrorCode::Unsupported,
                   "an exec with an idempotency key takes neither stdin nor trace: its result is "
                   "kept to be given again, and those are not");
  }
  const ExecState begun = TRY(start(caller, grip, request, options.idempotency_key));
  const auto exec = TRY(find(caller.tenant, grip.id, begun.exec_id));
  LeavesRunning reader(io);
  const ExecState state = TRY(exec->follow({}, Deadline::never(), reader));
  if (!state.ending) {
    return failure(ErrorCode::Unavailable,
                   fmt::format("exec {} still runs, and nobody waits for it here any more: ask "
                               "again with the same idempotency key",
                               begun.exec_id));
  }
  ExecReply reply;
  reply.result = *state.ending;
  reply.audit_id = state.audit_id;
  return reply;
}

DetachedExec::Spool DetachedExecs::spool_of(const std::string& tenant) {
  return {ground_.directory, ground_.accounts.of(tenant, Resource::SpoolBytes),
          ground_.rules.get()->bounds.spool_bytes,
          [this, tenant] { return forget_oldest(tenant); }};
}

Result<Charge> DetachedExecs::take_place(const std::string& tenant) {
  for (;;) {
    auto place = ground_.accounts.take(tenant, Resource::DetachedExecs, 1);
    if (place || !forget_oldest(tenant)) return place;
  }
}

void DetachedExecs::remove(const std::string& exec_id) {
  // A row that stays is removed at another look.
  (void)ground_.database.run("DELETE FROM execs WHERE exec_id=?", {exec_id});
  DetachedExec::remove_files(ground_.directory, exec_id);
}

bool DetachedExecs::forget_oldest(const std::string& tenant) {
  // Ends its runner's thread outside the lock, which may take a moment.
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
  // A paused sandbox takes no connection, nor does one whose backend does not answer; what runs in
  // it goes on when it does.
  const auto cannot_be_reached = [&] {
    const SandboxTable::Rest rest = ground_.table.rest_of(job.grip.id);
    return rest.is_paused || rest.is_unseen;
  };
  while (cannot_be_reached() && !exec.was_let_go())
    std::this_thread::sleep_for(50ms);
  UniqueFd stream = TRY(ground_.runtime.open_stream(job.grip.id));
  exec.hold_stream(stream.get());
  wire::InitClient client(std::move(stream));
  auto result = job.execution(client, exec);
  exec.hold_stream(-1);
  return result;
}

void DetachedExecs::run(const std::shared_ptr<DetachedExec>& exec, Job& job) {
  const auto used = ground_.table.use(job.grip.id);
  auto result = execute(*exec, job);
  fault_point("detach.ended");
  const bool is_lost = !result || result->outcome == Outcome::Lost;
  if (is_lost && exec->was_let_go()) return;  // it runs on, for the next daemon
  if (result && is_lost) result = ground_.execs.explain_loss(job.grip, std::move(*result));
  finish(*exec, job, result);
}

void DetachedExecs::finish(DetachedExec& exec, Job& job, const Result<ExecResult>& result) {
  const ExecResult ending = result ? *result : lost(result.error().message);
  Usage usage = usage_of(ending);
  if (job.reservation.amount.execs == 0) usage.execs = 0;  // counted by an earlier daemon
  ground_.watch.count(job.reservation.tenant, job.reservation.session, exec.identity().sandbox);
  ground_.budgets.settle(job.reservation, usage);
  Ending& told = job.operation.ending;
  told.outcome = outcome_text(ending);
  told.detail = ending.detail;
  told.output_bytes = ending.stdout_bytes + ending.stderr_bytes;
  const std::uint64_t audit_id = ground_.operations.end(job.operation);
  // Before anybody is told: what was told once is told again after a restart.
  (void)ground_.database.run(
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
  Charge place = ground_.accounts.of(identity.tenant, Resource::DetachedExecs).take_anyway(1);
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
  job.grip.id = identity.sandbox;
  if (const auto held = ground_.table.copy_of(identity.sandbox))
    job.grip.backend = held->spec.backend;
  job.execution = [](wire::InitClient& client, DetachedExec& target) {
    const ExecState state = target.state();
    return client.attach({target.identity().exec_id, state.output_bytes, state.error_bytes},
                         target.identity().limits, target);
  };
  launch(std::move(exec), std::move(place), std::move(job));
  return {};
}

Result<> DetachedExecs::adopt() {
  TRY(make_directory(ground_.directory));
  Result<> outcome;
  TRY(ground_.database.query(
      "SELECT exec_id, tenant, sandbox, session, stage, limits, begun_id, audit_id, result FROM "
      "execs",
      {}, [&](const Row& row) {
        if (outcome) outcome = adopt_row(row);
      }));
  if (outcome) sweep_files();
  return outcome;
}

// Files that no row tells of were left by a daemon that was killed.
void DetachedExecs::sweep_files() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(ground_.directory, error)) {
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
