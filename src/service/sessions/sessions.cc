#include "service/sessions/sessions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fault_point.h"
#include "core/json_form.h"
#include "service/model/moments.h"
#include "service/sandboxes/spec_text.h"
#include "service/tenants/allowed.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kSetupTime = 600s;
constexpr milliseconds kLongestLease{30LL * 24 * 3600 * 1000};
constexpr std::chrono::minutes kKeepTime{2};  // a sandbox lives this long while its files are saved
constexpr std::size_t kMostSetup = 64;
constexpr std::size_t kMostSetupBytes = 256U << 10U;

// Keeps the last bytes of both streams together, in the order in which they came.
class TailIo : public wire::ExecIo {
 public:
  Taken take(wire::Stream /*stream*/, std::string_view bytes) override {
    text += bytes;
    if (text.size() > 2 * kMostSetupOutput) text.erase(0, text.size() - kMostSetupOutput);
    return Taken::Yes;
  }
  std::string text;
};

Failure no_such_session(const std::string& name) {
  return failure(ErrorCode::NotFound, fmt::format("no session '{}'", name));
}

Result<> check_name(const std::string& name) {
  const auto is_allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  if (!name.empty() && name.size() <= 63 && name.front() != '.' &&
      std::all_of(name.begin(), name.end(), is_allowed))
    return {};
  return failure(ErrorCode::InvalidArgument,
                 "a session's name has 1 to 63 letters, digits, '.', '_' or '-', and does not "
                 "begin with '.'");
}

Result<> check_setup(const std::vector<std::vector<std::string>>& setup) {
  if (setup.size() > kMostSetup)
    return failure(ErrorCode::InvalidArgument, "more than 64 setup commands");
  std::size_t bytes = 0;
  for (const auto& argv : setup) {
    ExecRequest request;
    request.argv = argv;
    TRY(check_exec(request));
    for (const std::string& word : argv)
      bytes += word.size() + 1;
  }
  if (bytes <= kMostSetupBytes) return {};
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("the setup commands have {} bytes, at most {} are kept: put the data "
                             "into files",
                             bytes, kMostSetupBytes));
}

Result<> check(const SessionRequest& request) {
  TRY(check_name(request.name));
  TRY(check_spec(request.spec));
  TRY(check_labels(request.labels));
  const bool is_time = request.lease >= 0ms && request.lease <= kLongestLease &&
                       request.pause_after >= 0ms && request.pause_after <= kLongestLease &&
                       request.budget.cpu_time >= 0ms && request.budget.wall_time >= 0ms;
  if (!is_time)
    return failure(ErrorCode::InvalidArgument,
                   "a lease, pause or budget is out of range: 0 to 30d");
  return check_setup(request.setup);
}

// Memory that a session needs, without the output of its setup.
std::uint64_t session_bytes_of(const SessionRequest& request) {
  std::uint64_t bytes = state_bytes_of(request.spec);
  for (const auto& [name, value] : request.labels)
    bytes += name.size() + value.size() + 64;
  for (const auto& argv : request.setup)
    for (const std::string& word : argv)
      bytes += 2 * (word.size() + 32);  // twice, because SetupOutput has it again
  return bytes;
}

bool has_labels(const SessionRequest& request, const std::map<std::string, std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&request](const auto& label) {
    const auto found = request.labels.find(label.first);
    return found != request.labels.end() && found->second == label.second;
  });
}

}  // namespace

std::string Sessions::lock_name(const Key& key) {
  return fmt::format("{}:{}:{}", key.first.size(), key.first, key.second);
}

NamedLocks::Lock Sessions::lock(const Key& key) {
  return locks_.take(lock_name(key));
}

std::optional<Sessions::Session> Sessions::copy_of(const Key& key) {
  return sessions_.with([&key](auto& sessions) -> std::optional<Session> {
    const auto found = sessions.find(key);
    return found != sessions.end() ? std::optional(found->second) : std::nullopt;
  });
}

bool Sessions::lives(const Key& key, const Session& session) {
  if (session.sandbox.empty()) return false;
  const auto entry =
      uses_.table.copy_of(session.sandbox);  // also if its backend has not answered yet
  return entry && entry->tenant == key.first;
}

SessionView Sessions::view(const Key& key, const Session& session) {
  SessionView view;
  view.name = key.second;
  view.sandbox_id = session.sandbox;
  view.life = session.life;
  view.keeps_workspace = session.request.keeps_workspace;
  view.setup = session.setup;
  view.budget = session.request.budget;
  if (!session.sandbox.empty()) uses_.watch.count(key.first, key.second, session.sandbox);
  view.usage = uses_.budgets.usage(key.first, key.second);
  if (session.request.lease > 0ms) view.lease_left = until(session.lease_end);
  view.labels = session.request.labels;
  view.created = std::chrono::system_clock::time_point(milliseconds(session.created_ms));
  return view;
}

// Seals the request and the setup, which may hold secrets.
Result<> Sessions::save(const Key& key, const Session& session) {
  const std::string name = lock_name(key);
  const std::string request =
      TRY(uses_.seal.close(to_json_text(session.request, Written::Kept), name));
  const std::string setup = TRY(uses_.seal.close(encode_setup(session.setup), name));
  TRY(uses_.database.run(
      "INSERT INTO sessions(tenant, name, request, stage, sandbox, life, setup, execs, cpu_us, "
      "wall_us, output_bytes, lease_ms, lease_end_ms, created_ms) VALUES(?,?,?,?,?,?,?,0,0,0,0,?,"
      "?,?) ON CONFLICT(tenant, name) DO UPDATE SET stage=excluded.stage, "
      "sandbox=excluded.sandbox, life=excluded.life, setup=excluded.setup, "
      "lease_ms=excluded.lease_ms, lease_end_ms=excluded.lease_end_ms, request=excluded.request",
      {key.first, key.second, request, std::string(session.is_ready ? "ready" : "making"),
       session.sandbox, static_cast<std::int64_t>(session.life), setup,
       session.request.lease.count(), to_ms(session.lease_end), session.created_ms}));
  sessions_.with([&](auto& sessions) { sessions.insert_or_assign(key, session); });
  return {};
}

Result<> Sessions::erase(const Key& key) {
  TRY(uses_.database.run("DELETE FROM sessions WHERE tenant=? AND name=?",
                         {key.first, key.second}));
  sessions_.with([&key](auto& sessions) { sessions.erase(key); });
  charged_.with([&key](auto& charged) { charged.erase(key); });
  uses_.budgets.forget(key.first, key.second);
  return {};
}

Result<Sessions::Session> Sessions::decode_row(const Key& key, const Row& row) {
  const auto opened = [&](int column) -> Result<std::string> {
    std::string text = row.text(column);
    // Plain text of an earlier version is sealed at the end of load().
    if (!Seal::is_sealed(text)) return text;
    return uses_.seal.open_text(text, lock_name(key));
  };
  Session session;
  session.request = TRY(from_json_text<SessionRequest>(TRY(opened(2))));
  session.setup = TRY(decode_setup(TRY(opened(6))));
  return session;
}

Result<> Sessions::load() {
  Result<> outcome;
  std::vector<std::pair<Key, Session>> plain;
  TRY(uses_.database.query(
      "SELECT tenant, name, request, stage, sandbox, life, setup, execs, cpu_us, wall_us, "
      "output_bytes, lease_end_ms, created_ms FROM sessions",
      {}, [&](const Row& row) {
        const Key key{row.text(0), row.text(1)};
        auto decoded = decode_row(key, row);
        if (!decoded) {
          outcome =
              while_doing(fmt::format("read session {}", key.second), std::move(decoded).error());
          return;
        }
        Session session = std::move(*decoded);
        session.sandbox = row.text(4);
        session.life = static_cast<std::uint32_t>(row.number(5));
        session.is_ready = row.text(3) == "ready";
        // The clock of another boot may have been far ahead of this one.
        session.lease_end = std::min(from_ms(row.number(11)), Clock::now() + session.request.lease);
        session.created_ms = row.number(12);
        uses_.budgets.define(
            key.first, key.second, session.request.budget,
            {static_cast<std::uint64_t>(row.number(7)), std::chrono::microseconds(row.number(8)),
             std::chrono::microseconds(row.number(9)), static_cast<std::uint64_t>(row.number(10))});
        charge_anyway(key, session);
        if (!Seal::is_sealed(row.text(2))) plain.emplace_back(key, session);
        sessions_.with([&](auto& sessions) { sessions.emplace(key, std::move(session)); });
      }));
  TRY(std::move(outcome));
  for (const auto& [key, session] : plain)
    TRY(save(key, session));
  return {};
}

Result<SessionView> Sessions::ensure(const Caller& caller, const SessionRequest& request) {
  const auto work = TRY(uses_.gate.begin());
  return uses_.operations.run(
      caller, {"session", {{}, request.name, {}}, uses_.operations.describe(request.spec)},
      [&](Operation& operation) -> Result<SessionView> {
        SessionRequest admitted = request;
        admitted.spec = TRY(admit_spec(*uses_.rules.get(), caller, request.spec));
        SessionView view = TRY(find_or_make(caller, admitted));
        operation.subject.sandbox = view.sandbox_id;
        return view;
      });
}

Result<SessionView> Sessions::find_or_make(const Caller& caller, const SessionRequest& request) {
  TRY(check(request));
  const Key key{caller.tenant, request.name};
  const auto locked = lock(key);
  auto session = copy_of(key);
  // Asks the sandbox itself, because it may have been killed a moment ago.
  if (session && session->is_ready && lives(key, *session) &&
      uses_.sandboxes.is_alive(session->sandbox))
    return go_on(caller, key, std::move(*session));
  if (!session) {
    session.emplace();
    session->request = request;
    session->created_ms = wall_ms();
  }
  TRY(open_account(key, *session));
  session->lease_end = Clock::now() + session->request.lease;
  return begin_life(caller, key, std::move(*session));
}

// A sandbox lives at least as long as the lease of its session, if the operator allows it.
std::chrono::milliseconds Sessions::life_of(const SessionRequest& request) const {
  return std::max(request.spec.ttl, std::min(request.lease, uses_.sandboxes.longest_life()));
}

// Renews the lease and the ttl of a session that is used again, and resumes its sandbox.
Result<SessionView> Sessions::go_on(const Caller& caller, const Key& key, Session session) {
  session.lease_end = Clock::now() + session.request.lease;
  session.is_kept = false;
  const SandboxRef ref = TRY(uses_.table.find(caller.tenant, session.sandbox));
  if (ref.state == SandboxState::Paused) TRY(uses_.sandboxes.resume(session.sandbox));
  // Fails near the longest life of a sandbox; the ttl stays as it is then.
  (void)uses_.sandboxes.extend(session.sandbox, life_of(session.request));
  TRY(save(key, session));
  return view(key, session);
}

// Returns what was lost with the last sandbox; empty if there was none.
Result<std::string> Sessions::end_last_life(const Key& key, const Session& session) {
  if (session.life == 0) return std::string();
  // The setup was interrupted, and it is unknown which commands have run.
  if (lives(key, session)) TRY(uses_.sandboxes.end(session.sandbox, "its setup was cut short"));
  return fmt::format(
      "{} is gone{}: {} lost",
      session.sandbox.empty() ? "the last sandbox" : "sandbox " + session.sandbox,
      session.is_ready || session.sandbox.empty() ? "" : " before its setup was done",
      session.request.keeps_workspace
          ? "its processes, and changes to files that were not kept yet, are"
          : "its files and processes are");
}

Result<> Sessions::make_life(const Caller& caller, const Key& key, Session& session) {
  session.is_ready = session.is_kept = false;
  session.sandbox.clear();
  charged_.with([&](auto& all) {
    for (const SetupOutput& output : session.setup)
      all[key].bytes.shrink(output.output.size());
  });
  session.setup.clear();
  ++session.life;
  TRY(save(key, session));
  fault_point("session.recorded");
  SandboxSpec spec = session.request.spec;
  spec.ttl = life_of(session.request);
  session.sandbox = TRY(uses_.sandboxes.make({std::move(spec), caller, key.second}));
  TRY(save(key, session));
  fault_point("session.made");
  auto ran = bring_workspace(key, session);
  if (ran) ran = run_setup(caller, key, session);
  if (!ran) (void)uses_.sandboxes.end(session.sandbox, "its setup failed");
  return ran;
}

// Forgets a session whose first sandbox could not be made. Others keep their name and usage.
Result<> Sessions::give_up(const Key& key, Session session, const Usage& usage) {
  if (session.life == 1) return erase(key);
  session.sandbox.clear();
  uses_.budgets.define(key.first, key.second, session.request.budget, usage);
  return save(key, session);
}

Result<SessionView> Sessions::begin_life(const Caller& caller, const Key& key, Session session) {
  std::string lost = TRY(end_last_life(key, session));
  const Usage usage = uses_.budgets.usage(key.first, key.second);
  uses_.budgets.forget(key.first, key.second);  // the setup does not count
  auto made = make_life(caller, key, session);
  if (!made) {
    TRY(give_up(key, session, usage));
    return Failure(std::move(made).error());
  }
  fault_point("session.setup");
  session.is_ready = true;
  session.lease_end = Clock::now() + session.request.lease;  // starts when it is ready
  TRY(save(key, session));
  uses_.budgets.define(key.first, key.second, session.request.budget, usage);
  uses_.watch.count(key.first, key.second, session.sandbox);  // counts from here on
  SessionView told = view(key, session);
  told.lost = std::move(lost);
  told.was_created = true;
  return told;
}

Result<> Sessions::forget_workspace(const Caller& caller, const std::string& name) {
  return uses_.operations.run(caller, {"forget workspace", {{}, name, {}}},
                              [&](Operation&) -> Result<> {
                                TRY(check_name(name));
                                return uses_.workspaces.forget(caller.tenant, name);
                              });
}

Result<> Sessions::open_account(const Key& key, const Session& session) {
  if (charged_.with([&key](const auto& charged) { return charged.contains(key); })) return {};
  Charged charged{
      TRY(uses_.accounts.take(key.first, Resource::Sessions, 1)),
      TRY(uses_.accounts.take(key.first, Resource::StateBytes, session_bytes_of(session.request)))};
  charged_.with([&](auto& all) { all.insert_or_assign(key, std::move(charged)); });
  return {};
}

void Sessions::charge_anyway(const Key& key, const Session& session) {
  std::uint64_t bytes = session_bytes_of(session.request);
  for (const SetupOutput& output : session.setup)
    bytes += output.output.size();
  charged_.with([&](auto& all) {
    all[key] = {uses_.accounts.of(key.first, Resource::Sessions).take_anyway(1),
                uses_.accounts.of(key.first, Resource::StateBytes).take_anyway(bytes)};
  });
}

void Sessions::note_setup(const Key& key, Session& session, SetupOutput output) {
  const bool has_room = charged_.with([&](auto& all) {
    const auto found = all.find(key);
    return found != all.end() && found->second.bytes.grow(output.output.size());
  });
  if (!has_room) output.output = "(not kept: the tenant has used up its state_bytes)\n";
  session.setup.push_back(std::move(output));
}

Result<> Sessions::run_setup(const Caller& caller, const Key& key, Session& session) {
  SandboxRef ref = TRY(uses_.table.find(key.first, session.sandbox));
  for (const auto& argv : session.request.setup) {
    ExecRequest request;
    request.argv = argv;
    request.limits.timeout = kSetupTime;
    request.limits.cpu_time = kSetupTime;
    TailIo io;
    const ExecReply reply = TRY(uses_.execs.run(caller, ref, request, {}, io));
    if (io.text.size() > kMostSetupOutput) io.text.erase(0, io.text.size() - kMostSetupOutput);
    note_setup(key, session, {argv, reply.result.exit_code, outcome_text(reply.result), io.text});
    TRY(save(key, session));
    if (reply.result.outcome == Outcome::Exited && reply.result.exit_code == 0) continue;
    // A lost sandbox is worth another try; a command that failed is not.
    const bool is_lost = reply.result.outcome == Outcome::Lost;
    return failure(is_lost ? ErrorCode::Unavailable : ErrorCode::InvalidArgument,
                   fmt::format("setup of session {}: command {} of {} ({}) {}:\n{}", key.second,
                               session.setup.size(), session.request.setup.size(), argv.front(),
                               session.setup.back().outcome, io.text));
  }
  return {};
}

// Called before the setup, which sees the kept files.
Result<> Sessions::bring_workspace(const Key& key, const Session& session) {
  if (!session.request.keeps_workspace) return {};
  return uses_.runtime.with_init(session.sandbox, [&](wire::InitClient& client) {
    return uses_.workspaces.restore(key.first, key.second, client);
  });
}

Result<> Sessions::keep_workspace(const SandboxEntry& entry) {
  const auto session = copy_of({entry.tenant, entry.session});
  if (!session || !session->request.keeps_workspace || !session->is_ready || session->is_kept ||
      session->sandbox != entry.id)
    return {};
  uses_.sandboxes.give_time(entry.id, kKeepTime);
  const auto keep = [&]() -> Result<> {
    if (entry.state == SandboxState::Paused) TRY(uses_.sandboxes.resume(entry.id));
    const auto save = [&] {
      return uses_.runtime.with_init(entry.id, [&](wire::InitClient& client) {
        return uses_.workspaces.save(entry.tenant, entry.session, client);
      });
    };
    auto saved = save();
    if (saved || saved.error().code == ErrorCode::ResourceExhausted) return saved;
    // The sandbox's user may have made files unreadable for itself.
    ExecRequest request;
    request.argv = {"/bin/chmod", "-R", "u+rwX", "/workspace"};
    wire::CapturedOutput ignored;
    TRY(uses_.runtime.exec(entry.id, request, ignored));
    return save();
  };
  auto kept = keep();
  uses_.operations.note({entry.tenant, "daemon"}, "keep workspace", {entry.id, entry.session, {}},
                        {kept ? "ok" : "failed", kept ? "" : kept.error().message, {}, {}, {}, 0});
  return kept;
}

// If there is no room for the files, refuses the end, so that the caller can make room.
Result<> Sessions::keep_before_end(const Key& key, const Session& session) {
  const auto sandbox = uses_.table.copy_of(session.sandbox);
  if (!sandbox) return {};
  auto kept = keep_workspace(*sandbox);
  if (kept) {
    sessions_.with([&](auto& sessions) { sessions[key].is_kept = true; });
  } else if (kept.error().code == ErrorCode::ResourceExhausted) {
    return while_doing(fmt::format("the session goes on, or loses its files if sandbox {} is "
                                   "destroyed first",
                                   session.sandbox),
                       std::move(kept).error());
  }
  return {};
}

// Copies large files on a thread of its own, so that other deadlines are not missed.
bool Sessions::ends_apart(const SandboxEntry& entry, const std::string& why) {
  const auto session = copy_of({entry.tenant, entry.session});
  if (!session || !session->request.keeps_workspace || session->sandbox != entry.id) return false;
  const auto started = uses_.jobs.start(entry.id, [this, entry, why] { end_kept(entry, why); });
  if (started == NamedJobs::Start::Refused) uses_.sandboxes.give_time(entry.id, kKeepTime);
  return true;
}

void Sessions::end_kept(const SandboxEntry& entry, const std::string& why) {
  const auto alone = lock({entry.tenant, entry.session});
  const auto now = uses_.table.copy_of(entry.id);
  const bool is_unused =
      now && now->deadline == entry.deadline && now->last_used == entry.last_used;
  if (is_unused) (void)uses_.sandboxes.end(entry.id, why);
}

Result<SessionView> Sessions::find(const Caller& caller, const std::string& name) {
  const Key key{caller.tenant, name};
  const auto session = copy_of(key);
  if (!session) return no_such_session(name);
  return view(key, *session);
}

SessionPage Sessions::list(const Caller& caller, const ListRequest& request) {
  const std::size_t most = std::clamp<std::size_t>(request.most, 1, 1000);
  const auto found = sessions_.with([&](auto& sessions) {
    std::vector<std::pair<Key, Session>> some;
    for (auto item = sessions.upper_bound({caller.tenant, request.cursor});
         item != sessions.end() && item->first.first == caller.tenant && some.size() <= most;
         ++item) {
      if (has_labels(item->second.request, request.labels)) some.emplace_back(*item);
    }
    return some;
  });
  SessionPage page;
  for (const auto& [key, session] : found) {
    if (page.sessions.size() == most) {
      page.next_cursor = page.sessions.back().name;
      break;
    }
    page.sessions.push_back(view(key, session));
  }
  return page;
}

Result<SessionView> Sessions::renew(const Caller& caller, const std::string& name,
                                    std::chrono::milliseconds lease) {
  const Key key{caller.tenant, name};
  const auto locked = lock(key);
  auto session = copy_of(key);
  if (!session) return no_such_session(name);
  if (lease < 1ms || lease > kLongestLease)
    return failure(ErrorCode::InvalidArgument, "the lease is out of range: 1ms to 30d");
  session->request.lease = lease;
  session->lease_end = Clock::now() + lease;
  // Fails near the longest life of a sandbox; the ttl stays as it is then.
  if (lives(key, *session))
    (void)uses_.sandboxes.extend(session->sandbox, life_of(session->request));
  TRY(save(key, *session));
  return view(key, *session);
}

Result<> Sessions::end(const Caller& caller, const std::string& name) {
  const Key key{caller.tenant, name};
  return uses_.operations.run(caller, {"end session", {{}, name, {}}}, [&](Operation&) -> Result<> {
    const auto locked = lock(key);
    const auto session = copy_of(key);
    if (!session) return no_such_session(name);
    TRY(keep_before_end(key, *session));
    return end_locked(key, *session);
  });
}

Result<> Sessions::end_locked(const Key& key, const Session& session) {
  if (lives(key, session)) TRY(uses_.sandboxes.end(session.sandbox, kSessionEnded));
  return erase(key);
}

// Checks again under the lock: the session may have been renewed, or was being made.
void Sessions::end_overdue(const Key& key) {
  const auto locked = locks_.try_take(lock_name(key));
  if (!locked) return;  // the holder may take long; the next tick tries again
  const auto session = copy_of(key);
  if (!session || Clock::now() < session->lease_end) return;
  const auto ended = end_locked(key, *session);
  uses_.operations.note({key.first, "daemon"}, "lease", {session->sandbox, key.second, {}},
                        {ended ? "ended" : "failed", "its lease was not renewed", {}, {}, {}, 0});
}

void Sessions::tend() {
  // Copies only sessions with a lease or pause_after, because the others may be many and large.
  const auto watched = sessions_.with([](auto& sessions) {
    std::vector<std::pair<Key, Session>> some;
    for (const auto& item : sessions) {
      const SessionRequest& request = item.second.request;
      const bool is_over = request.lease > 0ms && Clock::now() >= item.second.lease_end;
      if (!is_over && request.pause_after == 0ms) continue;
      Session slim;
      slim.request.lease = request.lease;
      slim.request.pause_after = request.pause_after;
      slim.request.keeps_workspace = request.keeps_workspace;
      slim.sandbox = item.second.sandbox;
      slim.lease_end = item.second.lease_end;
      some.emplace_back(item.first, std::move(slim));
    }
    return some;
  });
  for (const auto& [key, session] : watched) {
    if (session.request.lease > 0ms && Clock::now() >= session.lease_end) {
      if (!session.request.keeps_workspace) {
        end_overdue(key);
      } else {
        uses_.jobs.start(lock_name(key), [this, key = key] { end_overdue(key); });
      }
      continue;
    }
    const auto entry = uses_.table.copy_of(session.sandbox);
    if (!entry || session.request.pause_after == 0ms || entry->users > 0 ||
        entry->state == SandboxState::Paused ||
        since(entry->last_used) < session.request.pause_after)
      continue;
    // The next tick tries again.
    if (!uses_.sandboxes.pause(session.sandbox, Pausing::WhileIdle)) continue;
    // A caller began to use it meanwhile.
    if (uses_.table.current_state(session.sandbox).is_used)
      (void)uses_.sandboxes.resume(session.sandbox);
  }
}

}  // namespace nutshell::service
